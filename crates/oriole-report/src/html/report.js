"use strict";
const search = document.getElementById("search");
const findings = [...document.querySelectorAll(".finding")];
let current = -1;
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (element) => words.every((word) => element.dataset.text.includes(word));
  for (const row of document.querySelectorAll("tr[data-text]")) row.hidden = !fits(row);
  for (const section of document.querySelectorAll("section.kernel")) {
    const own = [...section.querySelectorAll(".finding")];
    const shown = own.filter((finding) => (finding.hidden = !fits(finding), !finding.hidden));
    if (fits(section)) own.forEach((finding) => (finding.hidden = false));
    section.hidden = !fits(section) && shown.length === 0;
  }
  const count = [...document.querySelectorAll("section.kernel")].filter((section) => !section.hidden).length;
  document.getElementById("count").textContent = words.length ? count + " shown" : "";
}
function go(step) {
  const visible = findings.filter((finding) => finding.offsetParent !== null);
  if (!visible.length) return;
  findings.forEach((finding) => finding.classList.remove("current"));
  current = (current + step + visible.length) % visible.length;
  visible[current].classList.add("current");
  visible[current].scrollIntoView({ block: "center" });
}
search.addEventListener("input", () => { current = -1; filter(); });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === search) { if (event.key === "Escape") { search.value = ""; filter(); search.blur(); } return; }
  if (event.key === "/") { event.preventDefault(); search.focus(); }
  else if (event.key === "j") go(1);
  else if (event.key === "k") go(current < 0 ? 0 : -1);
});
document.addEventListener("click", (event) => {
  const row = event.target.closest(".source .row[data-s]");
  if (!row) return;
  const panes = row.closest(".panes");
  panes.querySelectorAll(".row.on").forEach((own) => own.classList.remove("on"));
  const own = panes.querySelectorAll('.row[data-s="' + row.dataset.s + '"]');
  own.forEach((each) => each.classList.add("on"));
  const first = [...own].find((each) => each.closest(".ptx"));
  if (first) first.scrollIntoView({ block: "center" });
});
