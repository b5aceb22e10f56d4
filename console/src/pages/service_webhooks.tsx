import { useState } from "preact/hooks";
import { read, write } from "../api";
import { useLoaded } from "../loading";
import { Confirm } from "../parts/confirm";
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
import type { Page } from "../schema";
import { bodyOf, describeFilter, fieldsOf, type IssuedWebhook, type Webhook } from "../webhooks";
import { WebhookDetails } from "./webhook_details";

const PAGE_SIZE = 50;

/** Shows all webhooks of the store, or the one in the URL. */
export function Webhooks() {
  const { id } = route.value.parameters;
  const [issued, setIssued] = useState<IssuedWebhook>();
  const isOfPage = issued !== undefined && issued.id === id;
  return (
    <>
      {isOfPage && <Secret what="The secret that signs" text={issued.secret} onClose={() => setIssued(undefined)} />}
      {id === undefined ? <WebhookList onIssue={setIssued} /> : <WebhookDetails key={id} id={id} onIssue={setIssued} />}
    </>
  );
}

interface ListProperties {
  onIssue: (issued: IssuedWebhook) => void;
}

function WebhookList({ onIssue }: ListProperties) {
  const { next, prev } = route.value.parameters;
  const [isCreating, setCreating] = useState(false);
  const loaded = useLoaded(
    (signal) => read<Page<Webhook>>("v2/webhooks", { query: { limit: PAGE_SIZE, nextCursor: next, prevCursor: prev }, signal }),
    [next, prev],
  );
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what="Reading webhooks" />;
  return (
    <>
      <div class="actions">
        <ChangeButton needs={{ scope: "webhooks" }} class="primary" onClick={() => setCreating(true)}>
          <Icon name="plus" />
          New webhook
        </ChangeButton>
      </div>
      {loaded.value.results.length === 0 ? (
        <Empty title="There are no webhooks.">
          <p>
            A webhook is a URL to which changes are sent as they are made, signed and in order: for caches, search indexes and
            audit systems that have to react.
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
    <Table label="Webhooks" headings={["URL", "Gets", "State", "Created"]}>
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
            <Time time={webhook.createdAt} /> by {webhook.createdBy}
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
    <Confirm title="New webhook" action="Create" onConfirm={create} onClose={onClose}>
      <div class="field">
        <label for="webhook-gets">Gets</label>
        <select id="webhook-gets" value={String(isOfAccess)} onChange={(event) => choose(event.currentTarget.value === "true")}>
          <option value="false">what is written</option>
          <option value="true">access that is gained and lost</option>
        </select>
      </div>
      <WebhookInputs fields={fields} isOfAccess={isOfAccess} onChange={setFields} />
      <details>
        <summary>Secret</summary>
        <div class="field">
          <label for="webhook-secret">A secret that signs</label>
          <input
            id="webhook-secret"
            type="password"
            autocomplete="off"
            spellcheck={false}
            placeholder="whsec_…"
            value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)}
          />
          <span class="hint">Leave it empty to have one generated, which is shown once.</span>
        </div>
      </details>
    </Confirm>
  );
}
