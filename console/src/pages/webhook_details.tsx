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
import * as words from "../words";

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
  if (!loaded.value) return <Busy what={words.webhooks.readingOne} />;
  const { webhook, deliveries } = loaded.value;
  const dialog = { webhook, onDone: finish, onClose: () => setOpen(undefined) };
  const isEnabled = webhook.enabled;
  return (
    <>
      <About webhook={webhook} />
      <div class="actions">
        <ChangeButton needs={NEEDS} class="quiet" disabled={isBusy} onClick={() => act(() => sendTest(id))}>
          {words.webhooks.sendTest}
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" disabled={isBusy} onClick={() => act(() => enable(id, !isEnabled))}>
          {isEnabled ? words.webhooks.disable : words.webhooks.enable}
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen("edit")}>
          {words.webhooks.edit}
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen("rotate")}>
          {words.webhooks.rotate}
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen({ since: "" })}>
          {words.webhooks.replay}
        </ChangeButton>
        <ChangeButton needs={NEEDS} class="quiet" onClick={() => setOpen("delete")}>
          {words.webhooks.delete}
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
    ? words.webhooks.isEnabled
    : words.webhooks.isDisabled;
}

function About({ webhook }: { webhook: Webhook }) {
  return (
    <section class="card" aria-label={words.webhooks.title}>
      <h2 class="name">{webhook.url}</h2>
      {webhook.description && <p>{webhook.description}</p>}
      <dl class="meta-list">
        <Fact name={words.terms.state}>
          <WebhookState webhook={webhook} />
        </Fact>
        <Fact name={words.webhooks.gets}>{describeFilter(webhook)}</Fact>
        <Fact name={words.terms.created}>
          {words.terms.by(<Time time={webhook.createdAt} />, webhook.createdBy)}
        </Fact>
        <Fact name={words.webhooks.hasUpTo}>
          <a href={link("data", { at: webhook.token })}>{words.webhooks.thisWrite}</a>
        </Fact>
        {webhook.previousUntil && <Fact name={words.webhooks.oldSecret}><Time time={webhook.previousUntil} /></Fact>}
        {webhook.skipped && (
          <Fact name={words.webhooks.skipped}>
            {words.webhooks.skippedChanges(<Time time={webhook.skipped.time} />, link("data", { at: webhook.skipped.after }))}
          </Fact>
        )}
      </dl>
      <p>
        <a href={link("service", { show: "webhooks" })}>{words.webhooks.all}</a>
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
        <h2>{words.deliveries.title}</h2>
        <button type="button" class="quiet" aria-disabled={isLoading} onClick={onReload}>
          {words.deliveries.readAgain}
        </button>
      </div>
      {deliveries.length === 0 ? (
        <Empty title={words.deliveries.none}>
          <p>{words.deliveries.noneAdvice}</p>
        </Empty>
      ) : (
        <Table label={words.deliveries.title} headings={[words.deliveries.time, words.deliveries.result, words.deliveries.took, words.deliveries.attempt, words.deliveries.message]} hasActions>
          {deliveries.map((delivery) => (
            <tr key={delivery.time + delivery.id}>
              <td class="time">
                <Time time={delivery.time} isExact />
              </td>
              <td>
                <DeliveryResult delivery={delivery} />
              </td>
              <td class="time">{words.metrics.milliseconds(Math.round(delivery.duration))}</td>
              <td>{delivery.attempt}</td>
              <td>
                <code>{delivery.id}</code>
              </td>
              <td class="row-actions">
                <ChangeButton needs={NEEDS} class="quiet" onClick={() => onReplay({ since: delivery.tokens[0] ?? "" })}>
                  {words.deliveries.replayAfter(delivery.id)}
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
      <Mark tone={error ? "no" : "yes"}>{error ? words.deliveries.failed : words.deliveries.delivered}</Mark>{" "}
      {error ?? (status !== undefined && words.deliveries.answered(status))}
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
    onDone(words.webhooks.saved);
  }
  return (
    <Confirm title={words.webhooks.editTitle} action={words.actions.save} onConfirm={save} onClose={onClose}>
      <WebhookInputs fields={fields} isOfAccess={webhook.of !== undefined} onChange={setFields} />
    </Confirm>
  );
}

function RotateSecret({ webhook, onDone, onClose, onIssue }: DialogProperties & Pick<Properties, "onIssue">) {
  async function rotate() {
    onIssue(await write<IssuedWebhook>(webhookPath(webhook.id, "rotate"), { body: {} }));
    onDone(words.webhooks.rotated);
  }
  return (
    <Confirm title={words.webhooks.rotateTitle} action={words.actions.rotate} onConfirm={rotate} onClose={onClose}>
      <p>{words.webhooks.rotateAdvice}</p>
    </Confirm>
  );
}

function DeleteWebhook({ webhook, onClose }: DialogProperties) {
  async function remove() {
    await write(webhookPath(webhook.id), { method: "DELETE" });
    go("service", { show: "webhooks" });
  }
  return (
    <Confirm title={words.webhooks.deleteTitle} action={words.actions.delete} isDangerous onConfirm={remove} onClose={onClose}>
      <p>
        {words.webhooks.deleteAdvice(webhook.url)}
      </p>
    </Confirm>
  );
}

function ReplayChanges({ webhook, since, onDone, onClose }: DialogProperties & { since: string }) {
  const [token, setToken] = useState(since);
  const complete = useMemo(completeChange, []);
  async function replay() {
    await write<Webhook>(webhookPath(webhook.id, "replay"), { body: { since: token.trim() } });
    onDone(words.webhooks.replayed);
  }
  return (
    <Confirm title={words.webhooks.replayTitle} action={words.webhooks.replayNow} onConfirm={replay} onClose={onClose}>
      <CompletedField
        label={words.webhooks.after}
        value={token}
        placeholder={words.webhooks.exampleOfToken}
        complete={complete}
        onInput={setToken}
        isRequired
        hint={words.webhooks.replayAdvice}
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
