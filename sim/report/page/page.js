// Draws the run: every chart is a column of rows on one axis of time, and every
// row is a plot of its own. What they show is in the element "data"; drawing.go
// says what its fields mean. Pointing at a row shows what happened then,
// dragging looks closer at a stretch of time in all rows, a double click goes
// back.
(function () {
  "use strict";
  var run = JSON.parse(document.getElementById("data").textContent);
  var root = document.documentElement;
  var readout = document.getElementById("readout");
  var plots = [];
  var hatch = {};
  var gutter = 54; // for the scale on the left of every plot

  function color(name) { return getComputedStyle(root).getPropertyValue("--" + name).trim(); }

  // Numbers for people.
  function trim(v) { return String(Number(v.toPrecision(3))); }
  function millis(v) {
    return v === 0 ? "0" : v < 1 ? trim(v * 1000) + " µs" : v < 999.5 ? trim(v) + " ms" : v < 120000 ? trim(v / 1000) + " s" : trim(v / 60000) + " min";
  }
  function amount(v) {
    return v < 999.5 ? trim(v) : v < 999500 ? trim(v / 1e3) + " k" : v < 999500000 ? trim(v / 1e6) + " M" : trim(v / 1e9) + " G";
  }
  function inUnit(v, unit) {
    switch (unit) {
      case "ms": return millis(v);
      case "%": return trim(v) + " %";
      case "B/s": return (v < 999.5 ? trim(v) + " " : amount(v).replace("k", "K")) + "B/s";
      default: return amount(v) + (unit || "");
    }
  }

  // Colours of areas and bands. Two have a pattern, so that nobody needs colours.
  function pattern(ctx, look) {
    if (hatch[look]) { return hatch[look]; }
    var tile = document.createElement("canvas"), size = 6 * uPlot.pxRatio;
    tile.width = tile.height = size;
    var t = tile.getContext("2d");
    t.fillStyle = color(look + "-soft");
    t.fillRect(0, 0, size, size);
    t.strokeStyle = t.fillStyle = color(look);
    if (look === "frozen") {
      t.lineWidth = uPlot.pxRatio;
      t.beginPath();
      t.moveTo(0, size); t.lineTo(size, 0);
      t.stroke();
    } else {
      t.fillRect(size / 3, size / 3, size / 4, size / 4);
    }
    return (hatch[look] = ctx.createPattern(tile, "repeat"));
  }
  function fillOf(ctx, look) {
    return look === "frozen" || look === "links" ? pattern(ctx, look) : color(look + "-soft");
  }

  // inPlot calls f with the pen clipped to the plot.
  function inPlot(u, f) {
    var b = u.bbox, c = u.ctx;
    c.save();
    c.beginPath();
    c.rect(b.left, b.top, b.width, b.height);
    c.clip();
    c.textAlign = "left";
    c.textBaseline = "middle";
    f(c, b, uPlot.pxRatio, function (ms) { return u.valToPos(ms, "x", true); });
    c.restore();
  }

  // What lies behind a row: the times of faults, and the phases of the run.
  function drawBehind(u, row) {
    inPlot(u, function (c, b, px, x) {
      c.fillStyle = color("shade");
      (row.shade || []).forEach(function (s) { c.fillRect(x(s[0]), b.top, Math.max(x(s[1]) - x(s[0]), 1.5 * px), b.height); });
      if (row.kind === "life") {
        c.lineWidth = px;
        c.strokeStyle = color("quiet");
        c.setLineDash([3 * px, 4 * px]);
        c.beginPath();
        c.moveTo(b.left, b.top + b.height / 2); c.lineTo(b.left + b.width, b.top + b.height / 2);
        c.stroke();
      }
    });
  }

  // How many replies took how long: four shades, each for ten times as many.
  function drawCells(u, row) {
    inPlot(u, function (c, b, px, x) {
      var cells = row.cells || [], step = b.height / row.cell_rows;
      for (var i = 0; i < cells.length; i += 3) {
        var from = x(cells[i] * run.bucket_ms), to = x((cells[i] + 1) * run.bucket_ms);
        c.fillStyle = color("d" + Math.min(Math.floor(Math.log10(cells[i + 2])), 3));
        c.fillRect(from, b.top + b.height - (cells[i + 1] + 1) * step, to - from + 0.5, step + 0.5);
      }
    });
  }

  // A bar for each column that has any: even one must be seen, a hundred times
  // as many is three times as high.
  function drawMarks(u) {
    inPlot(u, function (c, b, px, x) {
      var values = u.data[1], most = Math.max.apply(null, values.map(function (v) { return v || 1; }));
      c.fillStyle = color("bad");
      values.forEach(function (v, i) {
        if (v > 0 && i + 1 < values.length) {
          var h = Math.min(5 * px + (b.height - 6 * px) * Math.log10(v) / Math.max(Math.log10(most), 1), b.height - px);
          c.fillRect(x(u.data[0][i]), b.top + b.height - h, Math.max(x(u.data[0][i + 1]) - x(u.data[0][i]) - 0.5, 2 * px), h);
        }
      });
    });
  }

  function drawBands(u, row) {
    inPlot(u, function (c, b, px, x) {
      c.font = 10 * px + "px system-ui, sans-serif";
      (row.bands || []).forEach(function (s) {
        var from = x(s.from), width = Math.max(x(s.to) - from, 2 * px), top = b.top, height = b.height;
        var text = s.label || "", room = width - 6 * px, at = from + 3 * px;
        if (s.look === "death") {
          c.fillStyle = color("bad");
          c.fillRect(from - px, top, 2.5 * px, height);
          var long = c.measureText(text).width;
          if (long < x(s.room) - from - 8 * px) {
            c.fillStyle = color("ground");
            c.fillRect(from + 3 * px, top, long + 4 * px, height);
            c.fillStyle = color("bad");
            c.fillText(text, from + 5 * px, top + height / 2);
          }
          return;
        }
        if (s.look === "tenure") {
          c.fillStyle = color("good");
          c.fillRect(from, top + height - 3 * px, width, 3 * px);
          return;
        }
        if (s.line !== undefined) {
          height = 13 * px; top += s.line * 17 * px + 2 * px;
          if (c.measureText(text).width > room) {
            at = s.before ? from - c.measureText(text).width - 3 * px : from + width + 3 * px;
            room = Infinity;
          }
        }
        if (s.part) { height /= 2; top += (s.part - 1) * height; }
        c.fillStyle = fillOf(c, s.look);
        c.fillRect(from, top, width, height);
        if (s.look !== "life") {
          c.lineWidth = px;
          c.strokeStyle = color(s.look);
          c.strokeRect(from + px / 2, top + px / 2, Math.max(width - px, px), height - px);
        }
        var needs = c.measureText(text).width;
        if (!text || s.part || needs > room) { return; }
        at = Math.max(at, b.left + 2 * px);
        if (at > from && at < from + width) {
          c.fillStyle = color(s.look + "-soft"); // a pattern is no ground for text
          c.fillRect(at - 2 * px, top + px, needs + 4 * px, height - 2 * px);
        }
        c.fillStyle = color("ink");
        c.fillText(text, at, top + height / 2 + px / 2);
      });
    });
  }

  function drawPhases(u, row) {
    inPlot(u, function (c, b, px, x) {
      var free = b.left;
      c.lineWidth = px;
      c.strokeStyle = c.fillStyle = color("quiet");
      c.font = 10 * px + "px system-ui, sans-serif";
      c.setLineDash([2 * px, 3 * px]);
      run.phases.forEach(function (p) {
        c.beginPath();
        c.moveTo(x(p.at), b.top); c.lineTo(x(p.at), b.top + b.height);
        c.stroke();
        if (row.kind === "ruler") {
          var long = c.measureText(p.text).width, at = x(p.at) + 4 * px;
          if (at + long > b.left + b.width) { at = x(p.at) - 4 * px - long; }
          if (at >= free) {
            c.fillText(p.text, at, b.top + b.height / 2);
            free = at + long;
          }
        }
      });
    });
  }

  // pack gives each fault a line in which neither it nor its label touches
  // another one, and returns how many lines that takes.
  function pack(bands, width) {
    var c = document.createElement("canvas").getContext("2d"), free = [];
    c.font = "10px system-ui, sans-serif";
    bands.forEach(function (s) {
      var from = s.from / run.end_ms * width, to = Math.max(s.to / run.end_ms * width, from + 2), text = c.measureText(s.label).width + 8;
      s.before = text > to - from && to + text > width; // its label stands before it
      s.line = free.findIndex(function (f) { return f <= (s.before ? from - text : from); });
      if (s.line < 0) { s.line = free.length; }
      free[s.line] = (text <= to - from || s.before ? to : to + text) + 3;
    });
    return free.length;
  }

  // columns are a row's times and values as uPlot wants them: the last column
  // reaches until the run's end, and no reply is no point.
  function columns(row) {
    if (!row.series) { return [[0, run.end_ms], [null, null]]; }
    var n = row.series[0].values.length, times = [], lines = row.kind === "latency";
    for (var i = 0; i < n; i++) { times.push(Math.min(row.at ? row.at[i] : (i + (lines ? 0.5 : 0)) * run.bucket_ms, run.end_ms)); }
    var values = row.series.map(function (s) { return lines ? s.values.map(function (v) { return v || null; }) : s.values.slice(); });
    if (times[0] > 0) {
      times.unshift(0);
      values.forEach(function (v) { v.unshift(null); });
    }
    if (times[times.length - 1] < run.end_ms) {
      times.push(run.end_ms);
      values.forEach(function (v) { v.push(lines ? null : v[v.length - 1]); });
    }
    return [times].concat(values);
  }

  // alone lists the points of a line that have no neighbour to be joined to.
  function alone(u, i) {
    var v = u.data[i], found = [];
    v.forEach(function (y, k) { if (y != null && v[k - 1] == null && v[k + 1] == null) { found.push(k); } });
    return found;
  }

  function seriesOf(row, s) {
    if (row.kind === "marks") { return { show: false }; }
    if (row.kind === "latency") {
      var p99 = s.name === "p99", line = color(p99 ? "p99" : "accent");
      return { stroke: line, width: 1.8, dash: p99 ? [5, 3] : [], points: { show: true, filter: alone, size: 3, width: 0, fill: line } };
    }
    var area = row.kind === "area", look = row.look || "accent";
    return {
      paths: uPlot.paths.stepped({ align: 1 }), points: { show: false }, width: area ? 0.7 : 1.8, stroke: color(look),
      fill: area ? (color(look + "-soft") || color(look)) : undefined,
    };
  }

  function scaleOf(row) {
    if (row.kind === "latency") { return { distr: 3, range: [row.low, row.high] }; }
    var most = row.high || 0;
    (row.series || []).forEach(function (s) { s.values.forEach(function (v) { most = row.high || Math.max(most, v); }); });
    return { range: [0, most > 0 ? most * 1.02 : 1] };
  }

  function axesOf(row, last) {
    var rule = { stroke: color(row.kind === "ruler" || row.kind === "faults" ? "ground" : "rule"), width: 0.7 }, font = "11px system-ui, sans-serif";
    var x = {
      stroke: color("quiet"), font: font, grid: rule, ticks: { show: last, stroke: color("quiet"), size: 4, width: 1 }, size: last ? 26 : 0, gap: 2, space: 70,
      values: last ? function (u, at) { return at.map(function (v) { return v >= 600000 ? trim(v / 60000) + " min" : Number((v / 1000).toFixed(3)) + " s"; }); } : function () { return []; },
    };
    var y = { stroke: color("quiet"), font: font, grid: { stroke: color("faint"), width: 0.7 }, ticks: { show: false }, size: gutter, gap: 4 };
    if (row.kind === "latency") {
      y.space = 16;
      y.values = function (u, at) { return at.map(function (v) { return v === null ? "" : millis(v); }); };
    } else {
      y.splits = function () { return row.kind === "share" ? [0, 50, 100] : [0]; };
      y.values = function (u, at) { return row.kind === "share" ? at.map(function (v) { return v + " %"; }) : at.map(function () { return ""; }); };
      if (row.kind !== "share") { y.grid = { stroke: color("rule"), width: 0.7 }; }
    }
    return [x, y];
  }

  // said is what a row shows at a time, in words.
  function said(row, data, ms) {
    var out = [], i = 0;
    (row.bands || []).forEach(function (s) {
      if (s.from <= ms && ms <= Math.max(s.to, s.from + run.bucket_ms)) { out.push(s.text); }
    });
    if (!row.series) { return out; }
    while (i + 1 < data[0].length && data[0][i + 1] <= ms + (row.kind === "latency" ? run.bucket_ms / 2 : 0)) { i++; }
    row.series.forEach(function (s, k) {
      var v = data[k + 1][i];
      if (v) { out.push((s.name || row.label || row.note) + " " + inUnit(v, row.unit)); }
    });
    return out;
  }

  function show(e, u, row, data) {
    var ms = Math.max(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, "x"), 0), lines = [(ms / 1000).toFixed(3) + " s"];
    if (row.chart !== "latency" && row.kind !== "faults") { lines = lines.concat(said(row, data, ms)); }
    plots.forEach(function (p) { if (p.row.chart === "latency" && p.row.series) { lines = lines.concat(said(p.row, p.data, ms)); } });
    var faults = [];
    run.faults.forEach(function (r) { faults = faults.concat(r.bands ? said(r, null, ms) : said(r, columns(r), ms)); });
    faults.slice(0, 5).forEach(function (f) { lines.push("fault: " + f); });
    if (faults.length > 5) { lines.push("and " + (faults.length - 5) + " more"); }
    readout.textContent = lines.filter(function (l, i) { return lines.indexOf(l) === i; }).join("\n");
    readout.style.display = "block";
    readout.style.left = Math.min(e.clientX + 14, window.innerWidth - readout.offsetWidth - 8) + "px";
    readout.style.top = Math.min(e.clientY + 14, window.innerHeight - readout.offsetHeight - 8) + "px";
  }

  function element(tag, cls, text, parent) {
    var e = document.createElement(tag);
    e.className = cls;
    e.textContent = text || "";
    parent.appendChild(e);
    return e;
  }

  function addRow(parent, row, last) {
    if (row.kind === "heading") {
      element("div", "heading", row.label, parent);
      return;
    }
    var line = element("div", "row " + row.kind, "", parent);
    var label = element("div", "label", row.label, line);
    if (row.under) { element("span", "under", row.under, label); }
    var plot = element("div", "plot", "", line), note = element("div", "note", row.note, line);
    label.title = [row.label, row.under].filter(Boolean).join(": ");
    note.title = row.note || "";
    var width = plot.clientWidth, height = row.kind === "faults" ? pack(row.bands, width - gutter - 16) * 17 : row.height, data = columns(row);
    var air = row.kind === "latency" || row.kind === "share" ? 7 : 0; // for the ends of a scale
    var u = new uPlot({
      width: width, height: height + 2 * air + (last ? 26 : 0), padding: [air, 16, air, 0], legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false }, sync: { key: "run" } },
      scales: { x: { time: false, range: function (u, from, to) { return from === null ? [0, run.end_ms] : [from, to]; } }, y: scaleOf(row) },
      series: [{}].concat(row.series ? row.series.map(function (s) { return seriesOf(row, s); }) : [{ show: false }]),
      axes: axesOf(row, last),
      hooks: {
        drawClear: [function (u) { drawBehind(u, row); }],
        drawAxes: [function (u) { drawCells(u, row); }],
        draw: [function (u) {
          if (row.kind === "marks") { drawMarks(u); }
          drawBands(u, row);
          drawPhases(u, row);
        }],
      },
    }, data, plot);
    u.over.addEventListener("mousemove", function (e) { show(e, u, row, data); });
    u.over.addEventListener("mouseleave", function () { readout.style.display = "none"; });
    plots.push({ u: u, row: row, data: data });
  }

  function draw() {
    plots.forEach(function (p) { p.u.destroy(); });
    plots = [];
    hatch = {};
    document.querySelectorAll("figure[data-chart]").forEach(function (figure) {
      var name = figure.getAttribute("data-chart"), chart = run.charts[name], body = figure.querySelector(".chart");
      body.textContent = "";
      var rows = chart.rows;
      if (chart.faults) {
        if (run.phases.length) { rows = [{ kind: "ruler", height: 14 }].concat(rows); }
        rows = run.faults.concat(rows);
      }
      rows.forEach(function (row, i) {
        var copy = Object.assign({}, row, { chart: name });
        if (chart.faults && row.kind !== "faults" && row.kind !== "ruler" && run.faults.indexOf(row) < 0) { copy.shade = row.shade || run.shade; }
        addRow(body, copy, i + 1 === rows.length);
      });
    });
  }

  // The page's colours are the reader's, and paper is white.
  var later;
  function drawSoon() {
    clearTimeout(later);
    later = setTimeout(draw, 100);
  }
  window.addEventListener("resize", drawSoon);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
  window.addEventListener("beforeprint", function () {
    root.className = "paper";
    draw();
  });
  window.addEventListener("afterprint", function () {
    root.className = "";
    draw();
  });
  draw();
})();
