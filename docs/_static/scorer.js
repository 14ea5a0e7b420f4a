// How results of the search are ranked: Sphinx's own numbers, and pages for readers before the list of changes.
var Scorer = {
  score: ([docname, title, anchor, description, score]) =>
    docname === "changelog" ? score - 14 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
