/** Lists the worked examples that an empty store can begin with (docs/cli.md#worked-examples). */

import * as words from "./words";

export type ExampleName = "document-sharing" | "multi-tenant-rbac" | "code-hosting" | "agents";

export interface ExampleEntry {
  name: ExampleName;
  title: string;
  meaning: string;
  /** Types, from subjects to objects. */
  types: string[];
}

export const EXAMPLES: ExampleEntry[] = [
  {
    name: "document-sharing",
    title: words.samples.documents,
    meaning: words.samples.aboutDocuments,
    types: ["user", "group", "folder", "document"],
  },
  {
    name: "multi-tenant-rbac",
    title: words.samples.tenants,
    meaning: words.samples.aboutTenants,
    types: ["user", "role", "tenant", "project"],
  },
  {
    name: "code-hosting",
    title: words.samples.repositories,
    meaning: words.samples.aboutRepositories,
    types: ["user", "team", "repository", "branch"],
  },
  {
    name: "agents",
    title: words.samples.agents,
    meaning: words.samples.aboutAgents,
    types: ["user", "agent", "task", "document"],
  },
];
