import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { findObstacle, read, Refused, write } from "../api";
import type { Complete, Option } from "../completion";
import { openTimeline } from "../events";
import { useLoaded } from "../loading";
import { showMoment } from "../names";
import { Confirm } from "../parts/confirm";
import { CompletedField } from "../parts/field";
import { Mark } from "../parts/icons";
import { Busy, Empty, Fault, Notice } from "../parts/notice";
import { ChangeButton } from "../parts/permission";
import { Table } from "../parts/table";
import { Time } from "../parts/time";
import { WebhookInputs } from "../parts/webhook_inputs";
import { WebhookState } from "../parts/webhook_state";
import { go, link } from "../route";
import { describeRevision } from "../timeline";
import {
  bodyOf,
  describeFilter,
  fieldsOf,
  webhookPath,
  type Delivery,
  type IssuedWebhook,
  type Webhook,
} from "../webhooks";

const NEEDS = { scope: "webhooks" } as const;
const MOST_CHANGES = 25;

/** Represents the dialog that is open. */
type Open = "edit" | "rotate" | "delete" | { since: string } | undefined;

interface Properties {
  id: string;
  onIssue: (issued: IssuedWebhook) => void;
}

/** Shows a webhook, what can be done with it, and the last attempts to deliver to it. */
export function WebhookDetails({ id, onIssue }: Properties) {
  const [open, setOpen] = useState<Open>();
  const [said, setSaid] = useState<ComponentChildren>();
  const [fault, setFault] = useState<Refused>();
  const [isBusy, setBusy] = useState(false);
  const loaded = useLoaded((signal) => readWebhook(id, signal), [id]);

  /** Does what needs no dialog, and says what came of it. */
  async function act(work: () => Promise<ComponentChildren>) {
    setBusy(true);
    setFault(undefined);
    setSaid(undefined);
    try {
      setSaid(await work());
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      setFault(refused);
    }
    setBusy(false);
    loaded.reload();
  }
  function finish(message: string) {
    setFault(undefined);
    setSaid(message);
    loaded.reload();
  }
  if (loaded.fault) return <Fault fault={loaded.fault} retry={loaded.reload} />;
  if (!loaded.value) return <Busy what="Reading the webhook" />;
  const { webhook, deliveries } = loaded.value;
  const dialog = { webhook, onDone: finish, onClose: () => setOpen(undefined) };
  const isEnabled = webhook.enabled;
  return (
    <>
      <About webhook={webhook} />
      <div class="actions">
        <ChangeButton needs={NEEDS} class="quiet" disabled={isBusy} onClick={() => act(() => sendTest(id))}>
          Send a test
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" disabled={isBusy} onClick={() => act(() => enable(id, !isEnabled))}>
          {isEnabled ? "Disable" : "Enable"}
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen("edit")}>
          Edit…
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen("rotate")}>
          Rotate the secret…
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen({ since: "" })}>
          Replay…
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen("delete")}>
          Delete…
        </ChangeButton>
      </div>
      {fault && <Fault fault={fault} />}
      {said && (
        <Notice>
          <p>{said}</p>
        </Notice>
      )}
      <Deliveries deliveries={deliveries} isLoading={loaded.isLoading} onReload={loaded.reload} onReplay={setOpen} />
      {open === "edit" && <EditWebhook {...dialog} />}
      {open === "rotate" && <RotateSecret {...dialog} onIssue={onIssue} />}
      {open === "delete" && <DeleteWebhook {...dialog} />}
      {typeof open === "object" && <ReplayChanges {...dialog} since={open.since} />}
    </>
  );
}

async function readWebhook(id: string, signal: AbortSignal): Promise<{ webhook: Webhook; deliveries: Delivery[] }> {
  const [webhook, deliveries] = await Promise.all([
    read<Webhook>(webhookPath(id), { signal }),
    read<{ results: Delivery[] }>(webhookPath(id, "deliveries"), { signal }),
  ]);
  return { webhook, deliveries: deliveries.results };
}

async function sendTest(id: string): Promise<ComponentChildren> {
  return <DeliveryResult delivery={await write<Delivery>(webhookPath(id, "test"), { method: "POST" })} />;
}

async function enable(id: string, isEnabled: boolean): Promise<string> {
  await write<Webhook>(webhookPath(id), { method: "PATCH", body: { enabled: isEnabled } });
  return isEnabled
    ? "Enabled. It goes on with the first change that it has not got."
    : "Disabled. What changes meanwhile is sent when it is enabled again.";
}

function About({ webhook }: { webhook: Webhook }) {
  return (
    <section class="card" aria-label="Webhook">
      <h2 class="name">{webhook.url}</h2>
      {webhook.description && <p>{webhook.description}</p>}
      <dl class="meta-list">
        <Fact name="State">
          <WebhookState webhook={webhook} />
        </Fact>
        <Fact name="Gets">{describeFilter(webhook)}</Fact>
        <Fact name="Created">
          <Time time={webhook.createdAt} /> by {webhook.createdBy}
        </Fact>
        <Fact name="Has everything up to">
          <a href={link("data", { at: webhook.token })}>this write</a>
        </Fact>
        {webhook.previousUntil && <Fact name="The secret before signs, too, until"><Time time={webhook.previousUntil} /></Fact>}
        {webhook.skipped && (
          <Fact name="Skipped, because they were not kept">
            changes until <Time time={webhook.skipped.time} />, after <a href={link("data", { at: webhook.skipped.after })}>this write</a>
          </Fact>
        )}
      </dl>
      <p>
        <a href={link("service", { show: "webhooks" })}>All webhooks</a>
      </p>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface DeliveriesProperties {
  deliveries: Delivery[];
  isLoading: boolean;
  onReload: () => void;
  onReplay: (open: { since: string }) => void;
}

function Deliveries({ deliveries, isLoading, onReload, onReplay }: DeliveriesProperties) {
  return (
    <>
      <div class="heading">
        <h2>Deliveries</h2>
        <button type="button" class="quiet" aria-disabled={isLoading} onClick={onReload}>
          Read again
        </button>
      </div>
      {deliveries.length === 0 ? (
        <Empty title="Nothing was sent yet.">
          <p>The last 100 attempts are listed here. Send a test to see whether the receiver answers.</p>
        </Empty>
      ) : (
        <Table label="Deliveries" headings={["Time", "Result", "Took", "Attempt", "Message"]} hasActions>
          {deliveries.map((delivery) => (
            <tr key={delivery.time + delivery.id}>
              <td class="time">
                <Time time={delivery.time} isExact />
              </td>
              <td>
                <DeliveryResult delivery={delivery} />
              </td>
              <td class="time">{Math.round(delivery.duration)} ms</td>
              <td>{delivery.attempt}</td>
              <td>
                <code>{delivery.id}</code>
              </td>
              <td class="row-actions">
                <ChangeButton needs={NEEDS} class="quiet" onClick={() => onReplay({ since: delivery.tokens[0] ?? "" })}>
                  Replay after this…<span class="sr"> {delivery.id}</span>
                </ChangeButton>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

function DeliveryResult({ delivery: { status, error } }: { delivery: Delivery }) {
  return (
    <>
      <Mark tone={error ? "no" : "yes"}>{error ? "Failed" : "Delivered"}</Mark>{" "}
      {error ?? (status !== undefined && `The receiver answered ${status}.`)}
    </>
  );
}

interface DialogProperties {
  webhook: Webhook;
  onDone: (message: string) => void;
  onClose: () => void;
}

function EditWebhook({ webhook, onDone, onClose }: DialogProperties) {
  const [fields, setFields] = useState(fieldsOf(webhook));
  async function save() {
    await write<Webhook>(webhookPath(webhook.id), { method: "PATCH", body: bodyOf(fields) });
    onDone("Saved.");
  }
  return (
    <Confirm title="Edit the webhook" action="Save" onConfirm={save} onClose={onClose}>
      <WebhookInputs fields={fields} isOfAccess={webhook.of !== undefined} onChange={setFields} />
    </Confirm>
  );
}

function RotateSecret({ webhook, onDone, onClose, onIssue }: DialogProperties & Pick<Properties, "onIssue">) {
  async function rotate() {
    onIssue(await write<IssuedWebhook>(webhookPath(webhook.id, "rotate"), { body: {} }));
    onDone("Rotated the secret.");
  }
  return (
    <Confirm title="Replace the secret?" action="Rotate" onConfirm={rotate} onClose={onClose}>
      <p>For 24 hours, messages are signed with both secrets, so that the receiver can change over.</p>
    </Confirm>
  );
}

function DeleteWebhook({ webhook, onClose }: DialogProperties) {
  async function remove() {
    await write(webhookPath(webhook.id), { method: "DELETE" });
    go("service", { show: "webhooks" });
  }
  return (
    <Confirm title="Delete the webhook?" action="Delete" isDangerous onConfirm={remove} onClose={onClose}>
      <p>
        Nothing is sent to <span class="name">{webhook.url}</span> any more. This cannot be undone.
      </p>
    </Confirm>
  );
}

function ReplayChanges({ webhook, since, onDone, onClose }: DialogProperties & { since: string }) {
  const [token, setToken] = useState(since);
  const complete = useMemo(completeChange, []);
  async function replay() {
    await write<Webhook>(webhookPath(webhook.id, "replay"), { body: { since: token.trim() } });
    onDone("Everything after that write is sent again.");
  }
  return (
    <Confirm title="Send changes again" action="Replay" onConfirm={replay} onClose={onClose}>
      <CompletedField
        label="After the write"
        value={token}
        placeholder="token of a write"
        complete={complete}
        onInput={setToken}
        isRequired
        hint="Everything that was written after it is sent again, in order. Choose the first change to send, or give a token."
      />
    </Confirm>
  );
}

/** Returns a completion by the last changes, whose value is the token of the write before, as far as the key may read the
 * history. */
function completeChange(): Complete {
  let reading: Promise<Option[]> | undefined;
  return async (text) => {
    if (findObstacle({ scope: "events" })) return [];
    reading ??= readChanges();
    return (await reading).filter(({ value, label }) => `${value} ${label}`.includes(text));
  };
}

async function readChanges(): Promise<Option[]> {
  const { revisions } = await openTimeline(undefined).readMore(MOST_CHANGES, new AbortController().signal);
  return revisions.flatMap((revision) =>
    revision.before === undefined
      ? []
      : [{ value: revision.before, label: describeRevision(revision), hint: showMoment(revision.createdAt) }],
  );
}
