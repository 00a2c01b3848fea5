(function () {
  "use strict";
  var root = document.documentElement, system = window.matchMedia("(prefers-color-scheme: dark)");
  var PALETTE = {
    light: {
      c0: "#1463a5", c1: "#d2660a", c2: "#c2334d", c3: "#1d7f5a", c4: "#7049a8", c5: "#0e7c8b", c6: "#7d5a44", c7: "#5d6b7a",
      ink: "#1c2733", soft: "#52606e", grid: "#e2e8ee", paper: "#ffffff", fill: "rgba(20,99,165,0.16)"
    },
    dark: {
      c0: "#6db3ee", c1: "#f7a559", c2: "#ff8a9b", c3: "#5fd0a3", c4: "#bb9ff0", c5: "#5ac8d8", c6: "#cfab92", c7: "#9aa8b6",
      ink: "#e6ebf0", soft: "#a3b0bd", grid: "#2b343e", paper: "#161c23", fill: "rgba(109,179,238,0.20)"
    }
  };
  var COLOUR = /^(color|fillcolor|bgcolor|bordercolor|colorscale|outliercolor)$/;
  var choice = "auto", printing = false, busy = false;

  function theme() { return printing ? "light" : choice !== "auto" ? choice : system.matches ? "dark" : "light"; }
  function remembered(value) {
    try {
      if (value === undefined) { return localStorage.getItem("dynid-colours") || "auto"; }
      localStorage.setItem("dynid-colours", value);
    } catch (error) { /* pages opened from a file may not be allowed to remember anything */ }
    return "auto";
  }

  // Names of the palette stand only where a colour is expected, so that no text is mistaken for one.
  function coloured(value, palette, inside) {
    if (typeof value === "string") { return inside && value[0] === "@" ? palette[value.slice(1)] || value : value; }
    if (Array.isArray(value)) { return value.map(function (item) { return coloured(item, palette, inside); }); }
    if (value && typeof value === "object") {
      var copy = {};
      Object.keys(value).forEach(function (key) {
        copy[key] = key === "bdata" ? value[key] : coloured(value[key], palette, COLOUR.test(key) || (inside && key !== "text"));
      });
      return copy;
    }
    return value;
  }

  function hasWebGL() {
    if (hasWebGL.known === undefined) {
      try {
        var context = document.createElement("canvas").getContext("webgl");
        hasWebGL.known = !!context;
        if (context && context.getExtension("WEBGL_lose_context")) { context.getExtension("WEBGL_lose_context").loseContext(); }
      } catch (error) { hasWebGL.known = false; }
    }
    return hasWebGL.known;
  }

  function specification(place) {
    var flat = document.getElementById("flat-" + place.dataset.key);
    var isFlat = flat && (printing || !hasWebGL());
    place.style.height = (isFlat ? flat.dataset.height : place.dataset.height) + "px";
    place.dataset.flat = isFlat ? "yes" : "no";
    return JSON.parse((isFlat ? flat : document.getElementById("chart-" + place.dataset.key)).textContent);
  }

  function draw(place) {
    var palette = PALETTE[theme()], spec = specification(place), was = place._fullLayout;
    var layout = Object.assign({ margin: { l: 58, r: 14, t: 8, b: 42 }, legend: {} }, coloured(spec.layout, palette, false));
    layout.autosize = true;
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.font = { color: palette.ink, size: 12, family: "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif" };
    layout.legend = Object.assign({ orientation: "h", x: 0, y: 1.01, yanchor: "bottom", font: { size: 12 } }, layout.legend);
    layout.hoverlabel = { bgcolor: palette.paper, bordercolor: palette.soft, font: { color: palette.ink }, namelength: 40 };
    layout.modebar = { bgcolor: palette.paper, color: palette.soft, activecolor: palette.ink };
    layout.uirevision = "kept";
    // On a touch screen a finger scrolls the page; the buttons, which are always shown there, zoom.
    if (window.matchMedia("(pointer: coarse)").matches) { layout.dragmode = false; }
    if (window.matchMedia("(hover: none)").matches && !printing) { layout.margin = Object.assign({}, layout.margin, { t: place.clientWidth < 560 || spec.data.length > 6 ? 84 : 58 }); }
    if (printing) { layout.width = place.closest("figure").classList.contains("wide") ? 690 : 338; layout.height = place.clientHeight; layout.autosize = false; }
    Object.keys(layout).forEach(function (key) {
      var axis = layout[key];
      if (/^[xy]axis/.test(key)) {
        layout[key] = Object.assign({ gridcolor: palette.grid, zerolinecolor: palette.grid, linecolor: palette.soft, automargin: true }, axis);
      } else if (/^scene/.test(key)) {
        ["xaxis", "yaxis", "zaxis"].forEach(function (name) {
          axis[name] = Object.assign({ gridcolor: palette.grid, zerolinecolor: palette.soft, linecolor: palette.soft, showbackground: false }, axis[name]);
        });
      }
    });
    if (was && !!was.scene !== /scatter3d|mesh3d|surface/.test(JSON.stringify(spec.data.map(function (t) { return t.type; })))) { Plotly.purge(place); }
    try {
      Plotly.react(place, coloured(spec.data, palette, false), layout, {
        responsive: !printing, displaylogo: false, displayModeBar: "hover", staticPlot: printing,
        modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"], toImageButtonOptions: { scale: 2 }
      });
    } catch (error) {
      place.innerHTML = "<p class=\"failed\">This chart could not be drawn here.</p>";
      place.dataset.state = "failed";
      console.error(error);
      return;
    }
    // Frames stay with a chart until it is purged; they hold no colours, so a change of theme leaves them as they are.
    if (spec.frames && !printing && !(place._transitionData && place._transitionData._frames.length)) { Plotly.addFrames(place, spec.frames); }
    if (place.dataset.state !== "drawn") {
      place.dataset.state = "drawn";
      if (place.dataset.link) { place.on("plotly_relayout", function (change) { follow(place, change); }); }
    }
  }

  // Charts with the same link show the same segment of time.
  function follow(source, change) {
    if (busy || printing) { return; }
    var update = null;
    if (change["xaxis.range[0]"] !== undefined) { update = { "xaxis.range": [change["xaxis.range[0]"], change["xaxis.range[1]"]] }; }
    else if (change["xaxis.autorange"]) { update = { "xaxis.autorange": true }; }
    if (!update) { return; }
    busy = true;
    Promise.all(charts().filter(function (place) {
      return place !== source && place.dataset.link === source.dataset.link && place.dataset.state === "drawn";
    }).map(function (place) { return Plotly.relayout(place, update); })).then(function () { busy = false; }, function () { busy = false; });
  }

  function charts() { return Array.prototype.slice.call(document.querySelectorAll(".chart")); }

  // One chart at a time, in reading order, so that the page answers while the others are drawn.
  function drawRest(places) {
    if (!places.length) { root.dataset.charts = "drawn"; return; }
    if (!printing) { draw(places[0]); places = places.slice(1); }
    window.setTimeout(function () { drawRest(places); }, 0);
  }

  function apply() {
    var button = document.getElementById("theme");
    root.dataset.theme = theme();
    button.firstChild.textContent = { auto: "◐ ", light: "☀ ", dark: "☾ " }[choice];
    button.querySelector("span").textContent = choice;
    button.setAttribute("aria-label", "Colours: " + (choice === "auto" ? "as the system" : choice) + "; press to change");
    charts().forEach(function (place) { if (place.dataset.state === "drawn") { draw(place); } });
  }

  function print(on) {
    printing = on;
    root.dataset.theme = theme();
    if (window.Plotly) { charts().forEach(draw); }
  }

  function number(text) {
    var value = parseFloat(text.replace(/[\s\u2009]/g, "").replace(/−/g, "-").replace(/^>/, "").replace(/^([+-]?)inf/, "$1Infinity"));
    return isNaN(value) ? null : value;
  }

  function sortable(table) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells), body = table.tBodies[0];
    heads.forEach(function (head, column) {
      head.querySelector("button").addEventListener("click", function () {
        var down = head.getAttribute("aria-sort") === "ascending", numeric = head.classList.contains("number");
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.prototype.slice.call(body.rows).map(function (row) {
          var text = row.cells[column].textContent.trim();
          return { row: row, key: numeric ? number(text) : text };
        });
        rows.sort(function (a, b) {
          if (a.key === null || b.key === null) { return (a.key === null) - (b.key === null); }
          var order = numeric ? a.key - b.key : a.key.localeCompare(b.key, undefined, { numeric: true });
          return down ? -order : order;
        });
        rows.forEach(function (entry) { body.appendChild(entry.row); });
      });
    });
  }

  function filterable(box) {
    var input = box.querySelector("input"), count = box.querySelector("output");
    var rows = Array.prototype.slice.call(box.parentNode.querySelector("table.data").tBodies[0].rows);
    var chips = Array.prototype.slice.call(box.querySelectorAll(".chip"));
    function show() {
      var words = input.value.toLowerCase().split(/\s+/), left = 0;
      var pressed = chips.filter(function (chip) { return chip.getAttribute("aria-pressed") === "true"; });
      rows.forEach(function (row) {
        var text = row.textContent.toLowerCase();
        var fits = words.every(function (word) { return text.indexOf(word) >= 0; }) && (!pressed.length || pressed.some(function (chip) {
          return row.cells[chip.dataset.column].dataset.word === chip.dataset.word;
        }));
        row.hidden = !fits;
        left += fits;
      });
      count.textContent = left === rows.length ? "" : left + " of " + rows.length + " rows";
    }
    input.addEventListener("input", show);
    chips.forEach(function (chip) {
      chip.addEventListener("click", function () {
        chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") === "true" ? "false" : "true");
        show();
      });
    });
  }

  choice = remembered();
  if (!{ auto: 1, light: 1, dark: 1 }[choice]) { choice = "auto"; }
  apply();
  document.getElementById("theme").addEventListener("click", function () {
    choice = { auto: "light", light: "dark", dark: "auto" }[choice];
    remembered(choice);
    apply();
  });
  system.addEventListener("change", apply);
  var narrow = window.matchMedia("(max-width: 1159px)");
  function fold() { document.querySelector(".contents").open = !narrow.matches; }
  narrow.addEventListener("change", fold);
  fold();
  document.querySelectorAll("table.data").forEach(sortable);
  document.querySelectorAll(".filter").forEach(filterable);
  window.addEventListener("beforeprint", function () { print(true); });
  window.addEventListener("afterprint", function () { print(false); });
  if (window.Plotly) { drawRest(charts()); } else { root.dataset.charts = "drawn"; }
})();
