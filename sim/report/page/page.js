// A line at the pointer's time through every drawing, with what happened then.
// The page says everything without it.
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var readout = document.getElementById("readout");
  var charts = Array.prototype.slice.call(document.querySelectorAll("svg[data-time]")).map(function (svg) {
    var t = svg.getAttribute("data-time").split(" ").map(Number);
    var line = document.createElementNS(svg.namespaceURI, "line");
    var box = svg.viewBox.baseVal;
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", 0);
    line.setAttribute("y2", box.height);
    line.style.display = "none";
    svg.appendChild(line);
    return { svg: svg, line: line, box: box, left: t[0], right: t[1], end: t[2] };
  });
  function millis(v) {
    return v === 0 ? "none" : v < 1 ? Math.round(v * 1000) + " µs" : v < 1000 ? Number(v.toPrecision(3)) + " ms" : Number((v / 1000).toPrecision(3)) + " s";
  }
  function text(ms) {
    var out = [(ms / 1000).toFixed(ms < 10000 ? 2 : 1) + " s"];
    var i = Math.min(Math.floor(ms / data.bucket_ms), (data.sent || []).length - 1);
    function rate(values) { return Math.round(values[i] * 1000 / data.bucket_ms) + "/s"; }
    if (i >= 0) {
      if (data.sent[i]) {
        out.push("sent " + rate(data.sent));
        out.push("p50 " + millis(data.p50[i]) + ", p99 " + millis(data.p99[i]));
      }
      if (data.bad[i]) { out.push(data.bad[i] + " without a reply"); }
      if (data.came && data.came[i]) { out.push("delivered " + rate(data.came)); }
      if (data.missed && data.missed[i]) { out.push(data.missed[i] + " reported as missing"); }
      if (data.open && data.open[i]) { out.push(data.open[i] + " tunnels open"); }
    }
    var shown = 0;
    (data.faults || []).forEach(function (f) {
      if (f.from <= ms && ms <= Math.max(f.to, f.from + data.bucket_ms) && shown++ < 5) { out.push("fault: " + f.text); }
    });
    if (shown > 5) { out.push("and " + (shown - 5) + " more"); }
    return out.join("\n");
  }
  function hide() {
    readout.style.display = "none";
    charts.forEach(function (c) { c.line.style.display = "none"; });
  }
  if (!readout) { return; }
  charts.forEach(function (chart) {
    chart.svg.addEventListener("mousemove", function (e) {
      var r = chart.svg.getBoundingClientRect();
      var x = (e.clientX - r.left) / r.width * chart.box.width;
      if (x < chart.left || x > chart.right) { hide(); return; }
      var ms = (x - chart.left) / (chart.right - chart.left) * chart.end;
      charts.forEach(function (c) {
        c.line.setAttribute("x1", x);
        c.line.setAttribute("x2", x);
        c.line.style.display = "";
      });
      readout.textContent = text(ms);
      readout.style.display = "block";
      readout.style.left = Math.min(e.clientX + 14, window.innerWidth - readout.offsetWidth - 8) + "px";
      readout.style.top = Math.min(e.clientY + 14, window.innerHeight - readout.offsetHeight - 8) + "px";
    });
    chart.svg.addEventListener("mouseleave", hide);
  });
})();
