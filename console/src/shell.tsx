import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { access, findObstacle, key, signOut, type Need } from "./api";
import { loadPages, pages, pagesFault } from "./loaded_pages";
import type * as Pages from "./pages";
import { SignIn } from "./pages/sign_in";
import { WhyPage } from "./pages/why";
import { Icon, type IconName } from "./parts/icons";
import { Busy, Empty, Fault } from "./parts/notice";
import { Permitted } from "./parts/permission";
import { StoreBar, StoreButton } from "./parts/store_bar";
import { TimeBar, TimeButton } from "./parts/time_bar";
import { asOf, link, route, store } from "./route";
import { loadObjectTypes, schemaFault } from "./schema";
import { listenToShortcuts, opened } from "./shortcuts";
import { changeTheme, theme } from "./theme";
import * as words from "./words";

interface PageEntry {
  title: string;
  icon?: IconName;
  /** Returns its body; of a page that is loaded later, from what was loaded. */
  body: (loaded: typeof Pages | undefined) => ComponentType | undefined;
  /** What the key needs for the whole page. */
  needs?: Need;
}

const PAGES: Record<string, PageEntry> = {
  why: { title: words.pages.why, icon: "why", body: () => WhyPage },
  data: { title: words.pages.data, icon: "data", body: (loaded) => loaded?.DataPage },
  queries: { title: words.pages.queries, icon: "queries", body: (loaded) => loaded?.QueriesPage, needs: { scope: "query" } },
  history: { title: words.pages.history, icon: "history", body: (loaded) => loaded?.HistoryPage, needs: { scope: "events" } },
  model: { title: words.pages.model, icon: "model", body: (loaded) => loaded?.ModelPage, needs: { scope: "read", ofAllTypes: true } },
  tests: { title: words.pages.tests, icon: "tests", body: (loaded) => loaded?.TestsPage, needs: { scope: "read", ofAllTypes: true } },
  service: { title: words.pages.service, icon: "service", body: (loaded) => loaded?.ServicePage },
  object: { title: words.pages.object, body: (loaded) => loaded?.ObjectPage },
  live: { title: words.pages.live, body: (loaded) => loaded?.LivePage, needs: { scope: "events" } },
};
const LATER_MS = 500;
/** The page in the navigation that another one belongs to. */
const BELONGS: Record<string, string> = { object: "data", live: "history" };

export function Shell() {
  const { page } = route.value;
  const entry = PAGES[page];
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  const isSignedIn = key.value !== null;

  useEffect(() => {
    if (isSignedIn) void loadObjectTypes();
  }, [isSignedIn, asOf.value]);

  useEffect(listenToShortcuts, []);
  useEffect(() => {
    if (opened.value) void loadPages();
  }, [opened.value]);

  // The other pages are loaded while nothing else is, so that they open at once.
  useEffect(() => {
    if (page !== "why") void loadPages();
    else if (access.value) setTimeout(() => void loadPages(), LATER_MS);
  }, [page, access.value]);

  useEffect(() => {
    const title = isSignedIn ? (entry?.title ?? words.shell.notFound) : words.signIn.title;
    document.title = [title, ...(isSignedIn && store !== undefined ? [store] : []), words.shell.product].join(" · ");
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [page, isSignedIn]);

  const Palette = isSignedIn && access.value && opened.value ? pages.value?.Palette : undefined;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => {
        event.preventDefault(); // the fragment is the page
        main.current?.focus();
      }}>
        {words.shell.skip}
      </a>
      <div class="top">
        <Header current={BELONGS[page] ?? page} />
        {isSignedIn && access.value && <StoreBar />}
        {isSignedIn && access.value && <TimeBar />}
      </div>
      <main id="content" ref={main} tabIndex={-1}>
        {!isSignedIn ? <SignIn /> : <SignedIn entry={entry} />}
      </main>
      {Palette && <Palette key={opened.value} />}
    </>
  );
}

/** Shows a page once it is known what the key may do, because its requests depend on that. */
function SignedIn({ entry }: { entry: PageEntry | undefined }) {
  if (access.value === undefined) {
    return schemaFault.value ? <Fault fault={schemaFault.value} retry={loadObjectTypes} /> : <Busy what={words.shell.signingIn} />;
  }
  if (!entry) return <NotFound />;
  const Body = entry.body(pages.value);
  return entry.needs && findObstacle(entry.needs) ? (
    <div>
      <h1>{entry.title}</h1>
      <Permitted needs={entry.needs}>{null}</Permitted>
    </div>
  ) : Body ? (
    <Body />
  ) : pagesFault.value ? (
    <Fault fault={pagesFault.value} retry={() => location.reload()} />
  ) : (
    <Busy what={words.shell.loadingPage} />
  );
}

function Header({ current }: { current: string }) {
  const isSignedIn = key.value !== null;
  const colours = { system: words.shell.system, light: words.shell.light, dark: words.shell.dark }[theme.value];
  return (
    <header>
      <a class="brand" href={link("why")}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M8 23V10l8 7 8-7v13" />
        </svg>
        <span>{words.shell.product}</span>
      </a>
      {isSignedIn && (
        <nav aria-label={words.shell.pages}>
          {Object.entries(PAGES).map(
            ([name, { title, icon }]) =>
              icon && (
                <a key={name} href={link(name)} aria-current={name === current ? "page" : undefined}>
                  <Icon name={icon} />
                  <span>{title}</span>
                </a>
              ),
          )}
        </nav>
      )}
      <div class="tools">
        {isSignedIn && (
          <button type="button" class="tool" onClick={() => (opened.value = "palette")} title={words.shell.goToByKeys} aria-label={words.shell.goTo}>
            <Icon name="queries" />
            <span class="label">
              <kbd>{words.shell.keysOfGoTo}</kbd>
            </span>
          </button>
        )}
        {isSignedIn && access.value && <StoreButton />}
        {isSignedIn && <TimeButton />}
        <button type="button" class="tool" onClick={changeTheme} title={words.shell.changeColours} aria-label={words.shell.colours(colours)}>
          <Icon name="theme" />
          <span class="label">{colours}</span>
        </button>
        {isSignedIn && (
          <button type="button" class="tool" onClick={() => signOut()} title={words.shell.signOut} aria-label={words.shell.signOut}>
            <Icon name="leave" />
            <span class="label">{words.shell.signOut}</span>
          </button>
        )}
      </div>
    </header>
  );
}

function NotFound() {
  return (
    <Empty title={words.shell.noPage}>
      <p>
        {words.shell.noPageAdvice(link("why"))}
      </p>
    </Empty>
  );
}
