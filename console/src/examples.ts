/** Lists the worked examples that an empty store can begin with (docs/cli.md#worked-examples). */

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
    title: "Shared documents",
    meaning: "Documents in folders, shared with people, groups and everyone, and kept from some.",
    types: ["user", "group", "folder", "document"],
  },
  {
    name: "multi-tenant-rbac",
    title: "Tenants and roles",
    meaning: "Two companies in one application, with roles that mean something only within one of them.",
    types: ["user", "role", "tenant", "project"],
  },
  {
    name: "code-hosting",
    title: "Repositories",
    meaning: "Repositories of an organization, its nested teams, outside collaborators and protected branches.",
    types: ["user", "team", "repository", "branch"],
  },
  {
    name: "agents",
    title: "Agents",
    meaning: "Agents with tasks of their own, whose approvals start empty, and which delegate parts of them.",
    types: ["user", "agent", "task", "document"],
  },
];
