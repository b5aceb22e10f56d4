/** Has the pages that are loaded after the console itself, in one file: an explanation must not wait for them. */

export { loadExample } from "./example";
export { DataPage } from "./pages/data";
export { HistoryPage } from "./pages/history";
export { LivePage } from "./pages/live";
export { ModelPage } from "./pages/model";
export { ObjectPage } from "./pages/object";
export { QueriesPage } from "./pages/queries";
export { ServicePage } from "./pages/service";
export { TestsPage } from "./pages/tests";
export { Palette } from "./parts/palette";
