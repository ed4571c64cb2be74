// Search a site as a browser does, for tools/dev/check_site.py: search_site.mjs SITE/ RANKING QUERY...
// Prints the places of the first results of each query, as JSON.
const [site, ranking, ...queries] = process.argv.slice(2);
globalThis.window ??= globalThis;
const source = await (await fetch(`${site}pagefind/pagefind.js`)).text();
const pagefind = await import(`data:text/javascript,${encodeURIComponent(source)}`);
await pagefind.options({ basePath: `${site}pagefind/`, ranking: JSON.parse(ranking), noWorker: true });
const found = {};
for (const query of queries) {
  const { results } = await pagefind.search(query);
  const first = await Promise.all(results.slice(0, 5).map((result) => result.data()));
  found[query] = first.map((result) => result.meta.url ?? result.url);
}
console.log(JSON.stringify(found));
process.exit(0);
