import { useState } from "preact/hooks";
import { readAllPages } from "../all_pages";
import { read, write } from "../api";
import { writeWebhookLines } from "../export";
import { useLoaded } from "../loading";
import { Confirm } from "../parts/confirm";
import type { ReadLines } from "../parts/export_table";
import { Icon } from "../parts/icons";
import { Busy, Empty, Fault } from "../parts/notice";
import { Pager } from "../parts/pager";
import { ChangeButton } from "../parts/permission";
import { Secret } from "../parts/secret";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { WebhookInputs } from "../parts/webhook_inputs";
import { WebhookState } from "../parts/webhook_state";
import { go, link, route } from "../route";
import type { Page, PageQuery } from "../schema";
import { bodyOf, describeFilter, fieldsOf, type IssuedWebhook, type Webhook } from "../webhooks";
import * as words from "../words";
import { WebhookDetails } from "./webhook_details";

const PAGE_SIZE = 50;

/** Shows all webhooks of the store, or the one in the URL. */
export function Webhooks() {
  const { id } = route.value.parameters;
  const [issued, setIssued] = useState<IssuedWebhook>();
  const isOfPage = issued !== undefined && issued.id === id;
  return (
    <>
      {isOfPage && <Secret what={words.webhooks.secret} text={issued.secret} onClose={() => setIssued(undefined)} />}
      {id === undefined ? <WebhookList onIssue={setIssued} /> : <WebhookDetails key={id} id={id} onIssue={setIssued} />}
    </>
  );
}

interface ListProperties {
  onIssue: (issued: IssuedWebhook) => void;
}

function readPage(query: PageQuery, signal: AbortSignal): Promise<Page<Webhook>> {
  return read<Page<Webhook>>("v2/webhooks", { query: { ...query }, signal });
}

const readLines: ReadLines = async (signal) => {
  const { rows, isCut } = await readAllPages((page) => readPage(page, signal));
  return { lines: writeWebhookLines(rows), isCut };
};

function WebhookList({ onIssue }: ListProperties) {
  const { next, prev } = route.value.parameters;
  const [isCreating, setCreating] = useState(false);
  const loaded = useLoaded(
    (signal) => readPage({ limit: PAGE_SIZE, nextCursor: next, prevCursor: prev }, signal),
    [next, prev],
  );
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what={words.webhooks.reading} />;
  return (
    <>
      <div class="actions">
        <ChangeButton needs={{ scope: "webhooks" }} class="primary" onClick={() => setCreating(true)}>
          <Icon name="plus" />
          {words.webhooks.create}
        </ChangeButton>
      </div>
      {loaded.value.results.length === 0 ? (
        <Empty title={words.webhooks.none}>
          <p>
            {words.webhooks.noneAdvice}
          </p>
        </Empty>
      ) : (
        <WebhookTable webhooks={loaded.value.results} />
      )}
      <Pager page={loaded.value} />
      {isCreating && <CreateWebhook onIssue={onIssue} onClose={() => setCreating(false)} />}
    </>
  );
}

function WebhookTable({ webhooks }: { webhooks: Webhook[] }) {
  return (
    <Table label={words.pages.webhooks} headings={[words.webhooks.url, words.webhooks.gets, words.terms.state, words.terms.created]} readLines={readLines}>
      {webhooks.map((webhook) => (
        <tr key={webhook.id}>
          <td>
            <a class="name" href={link("service", { show: "webhooks", id: webhook.id })}>
              {webhook.url}
            </a>
            {webhook.description && <div class="hint">{webhook.description}</div>}
          </td>
          <td>{describeFilter(webhook)}</td>
          <td>
            <WebhookState webhook={webhook} />
          </td>
          <td class="time">
            {words.terms.by(<Time time={webhook.createdAt} />, webhook.createdBy)}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function CreateWebhook({ onIssue, onClose }: ListProperties & { onClose: () => void }) {
  const [fields, setFields] = useState(fieldsOf());
  const [secret, setSecret] = useState("");
  const [isOfAccess, setOfAccess] = useState(false);

  /** What was written into the fields that are hidden then does not count. */
  function choose(isOfAccess: boolean) {
    setOfAccess(isOfAccess);
    setFields({ ...fieldsOf(), url: fields.url, description: fields.description });
  }

  async function create() {
    const body = { ...bodyOf(fields), secret: secret.trim() || undefined };
    const issued = await write<IssuedWebhook>("v2/webhooks", { body });
    onIssue(issued);
    go("service", { show: "webhooks", id: issued.id });
  }

  return (
    <Confirm title={words.webhooks.create} action={words.actions.create} onConfirm={create} onClose={onClose}>
      <div class="field">
        <label for="webhook-gets">{words.webhooks.gets}</label>
        <select id="webhook-gets" value={String(isOfAccess)} onChange={(event) => choose(event.currentTarget.value === "true")}>
          <option value="false">{words.live.written}</option>
          <option value="true">{words.webhooks.access}</option>
        </select>
      </div>
      <WebhookInputs fields={fields} isOfAccess={isOfAccess} onChange={setFields} />
      <details>
        <summary>{words.webhooks.ownSecret}</summary>
        <div class="field">
          <label for="webhook-secret">{words.webhooks.signs}</label>
          <input
            id="webhook-secret"
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder={words.webhooks.exampleOfSecret}
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
          <span class="hint">{words.webhooks.noSecret}</span>
        </div>
      </details>
    </Confirm>
  );
}
