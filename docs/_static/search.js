// The page of results: sections, by pagefind; from a file, which browsers do not let pagefind read, Sphinx's list of pages.
// A plain script: from a file, browsers load no module, and import() fails.
(async () => {
  "use strict";
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const bundle = new URL("pagefind/", document.baseURI).href;
  document.querySelector(".sidebar-search").value = query;
  const config = document.querySelector("pagefind-config");
  config.setAttribute("bundle-path", bundle);
  try {
    await import(`${bundle}pagefind-component-ui.js`);
  } catch {
    listPages();
    return;
  }
  document.getElementById("sections").hidden = false;
  const instance = PagefindComponents.getInstanceManager().getInstance("default");
  instance.pagefindOptions.ranking = JSON.parse(config.dataset.ranking);
  const field = document.querySelector("pagefind-input input");
  field.value = query;
  field.focus();
  if (query) instance.triggerSearch(query);
  instance.on("search", (term) => {
    const url = new URL(location.href);
    url.searchParams.set("q", term);
    history.replaceState(null, "", url); // so that Back returns to these results
  });

  function listPages() {
    document.getElementById("pages").hidden = false;
    for (const source of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"]) {
      const script = document.createElement("script");
      script.src = new URL(source, document.baseURI).href;
      script.async = false; // each needs the one before it
      document.body.append(script);
    }
  }
})();
