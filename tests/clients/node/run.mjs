// node run.mjs LIBRARY URL KEY, in a folder where the libraries are installed: runs every scenario of one against the
// service there. The first line of JSON that it prints has the public methods of the library; each line after it tells
// of one scenario: {"scenario", "failure", "calls"}.

import { publicClasses, publicMethods, sdk, takeCalls, watchedClasses } from "./watching.mjs";

const FILES = { "warrant-node": ["accounts", "decisions"], "warrant-js": ["browser"] };
const [library, endpoint, apiKey] = process.argv.slice(2);
const modules = await Promise.all(FILES[library].map((name) => import(`./${name}.mjs`)));
const classes = publicClasses(new sdk.WarrantClient({ endpoint, apiKey }));
const print = (line) => console.log(JSON.stringify(line));

print({ methods: publicMethods(classes) });
for (const [scenario, run] of modules.flatMap(Object.entries)) {
  new sdk.WarrantClient({ endpoint, apiKey }); // warrant-node keeps in the class where to send, not in its instances
  const failure = await run({ ...watchedClasses(classes), endpoint, apiKey }).then(
    () => null,
    (error) => error.stack ?? String(error),
  );
  print({ scenario, failure, calls: takeCalls() });
}
