  /* ---- Ranking: the same on the site and in the offline file ------------- */
  /* A page is { title, appendix, sections }, a section { foldedTitle, folded };
     all text is folded, as the query is. */
  const LATIN = /[\p{Script=Latin}\p{N}]/u;
  const HAN = /\p{Script=Han}/u;
  /* How often a term is in a text. Inside a longer Latin word it counts for
     less than where a word begins; Chinese has no such edges. */
  function weigh(text, term) {
    let sum = 0;
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      const inside = at > 0 && LATIN.test(term[0]) && LATIN.test(text[at - 1]);
      sum += inside ? 0.25 : 1;
    }
    return sum;
  }
  const has = (section, term) =>
    section.folded.includes(term) || section.foldedTitle.includes(term);
  const stands = (sections, term) => sections.some((one) => has(one, term));
  /* Chinese is written without spaces: a term that stands nowhere is taken
     for several, the longest that do stand somewhere first. */
  function parts(term, sections) {
    const found = [];
    for (let at = 0; at < term.length;) {
      /* What stands somewhere, all that it begins with stands there too. */
      let to = at + 1;
      while (to < term.length && stands(sections, term.slice(at, to + 1))) to += 1;
      if (to === at + 1) return [term];
      found.push(term.slice(at, to));
      at = to;
    }
    return found;
  }
  /* Words, or what stands between quotation marks. */
  function termsOf(folded, pages) {
    const sections = pages.flatMap((one) => one.sections);
    const terms = new Set();
    for (const [, quoted, plain] of folded.matchAll(/"([^"]+)"|([^\s"]+)/g)) {
      const term = (quoted || plain).trim();
      if (!term) continue;
      const whole = quoted || !HAN.test(term) || stands(sections, term);
      (whole ? [term] : parts(term, sections)).forEach((part) => terms.add(part));
    }
    return [...terms];
  }
  /* Every term must be in the chapter. A section scores by how often the
     terms are in it, rarer ones more, titles most; a chapter by its best
     section and, less, by the rest. */
  function find(pages, terms) {
    const sections = pages.flatMap((one) => one.sections);
    const rarity = terms.map((term) => {
      const n = sections.filter((one) => has(one, term)).length;
      return Math.log(1 + sections.length / (1 + n));
    });
    const found = [];
    for (const one of pages) {
      const hits = [];
      const seen = new Set();
      for (const section of one.sections) {
        let score = 0;
        terms.forEach((term, i) => {
          const inText = weigh(section.folded, term);
          const inTitle = weigh(section.foldedTitle, term);
          if (inText || inTitle) seen.add(term);
          score += rarity[i] * (inText / (inText + 1.5) + 3 * Math.min(1, inTitle));
        });
        if (score) hits.push({ section, score });
      }
      if (!hits.length || seen.size < terms.length) continue;
      hits.sort((a, b) => b.score - a.score);
      let score = hits[0].score;
      hits.slice(1).forEach((hit, i) => { score += hit.score / (i + 3); });
      /* An appendix lists what the chapters explain. */
      if (one.appendix) score *= 0.6;
      terms.forEach((term, i) => { score += 3 * rarity[i] * Math.min(1, weigh(one.title, term)); });
      found.push({ page: one, hits, score });
    }
    return found.sort((a, b) => b.score - a.score);
  }
