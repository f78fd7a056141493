/** What ended a wait for a service. `model`: a person chose another; `stopped`: the run is to stop. */
export type ServiceWaitEnd = 'over' | 'retried' | 'model' | 'stopped' | 'aborted'

/** On record with a failure that waiting helps: when it came by the wall clock, and how long the run might wait then. JSON. */
export type MayWait = { readonly atMs: number; readonly leftMs: number }

/**
 * Milliseconds by the wall clock that a run, its agents and its questions have waited for services, and up to which moment since 1970 that counts them: the
 * later of two has both. JSON.
 */
export type ServiceWaits = { readonly ms: number; readonly untilMs: number }

/** The one of two that counts more. */
export function laterWaits(one: ServiceWaits | undefined, other: ServiceWaits): ServiceWaits {
  return one === undefined || other.ms >= one.ms ? other : one
}

/** From a moment to another, in milliseconds since 1970. */
interface Span {
  readonly sinceMs: number
  readonly untilMs: number
}

/** So many spans are told apart: older ones are in the sum. */
const mostSpans = 1_000

const noSpans: readonly Span[] = Object.freeze([])
const nothing: ServiceWaits = Object.freeze({ ms: 0, untilMs: 0 })

// Spec R-SERV-5a.
/** How long a run, its agents and its questions have waited for services: what goes on at the same time counts once. */
export class WaitTime {
  /** All before its moment. */
  #past: ServiceWaits
  /** What came after that, in order; none touches another. */
  #spans: readonly Span[] = noSpans
  #open: Set<Span> | undefined

  constructor(before: ServiceWaits | undefined) {
    this.#past = before ?? nothing
  }

  /** When the last wait ended that is over. */
  get #endedMs(): number {
    return Math.max(this.#past.untilMs, this.#spans.at(-1)?.untilMs ?? 0)
  }

  /**
   * A wait begins that ends at its `untilMs` at the latest; what is given takes in when it really did, and gives the sum up to then. One that begins
   * now and not on a record began after those that are over, whatever the wall clock says.
   */
  begin(wanted: Span, isLive: boolean): (endedMs: number) => ServiceWaits {
    const setBackMs = isLive ? Math.max(0, this.#endedMs - wanted.sinceMs) : 0
    const open = { sinceMs: wanted.sinceMs + setBackMs, untilMs: wanted.untilMs + setBackMs }
    const opened = (this.#open ??= new Set())
    opened.add(open)
    return (endedMs) => {
      opened.delete(open)
      const untilMs = endedMs + setBackMs
      this.#enter({ sinceMs: open.sinceMs, untilMs })
      return { ms: this.#sum(untilMs), untilMs: Math.max(untilMs, this.#past.untilMs) }
    }
  }

  /** What a record says of all that was waited up to a moment, whoever waited. */
  restore(waited: ServiceWaits): void {
    if (waited.untilMs <= this.#past.untilMs) return
    this.#past = { ms: Math.max(waited.ms, this.#sum(waited.untilMs)), untilMs: waited.untilMs }
    this.#spans = mergedSpans(this.#spans.map((span) => this.#afterPast(span)))
  }

  /** How long a wait that begins now may be: for as long as others wait anyway, it costs nothing. */
  leftMs(limitMs: number, wallMs: number): number {
    const nowMs = Math.max(wallMs, this.#endedMs)
    const othersMs = Math.max(0, ...[...(this.#open ?? [])].map(({ untilMs }) => untilMs - nowMs))
    return Math.max(othersMs, limitMs - this.#sum(nowMs))
  }

  #enter(span: Span): void {
    const merged = mergedSpans([...this.#spans, this.#afterPast(span)])
    const old = merged.slice(0, Math.max(0, merged.length - mostSpans))
    this.#past = old.reduce(({ ms }, { sinceMs, untilMs }) => ({ ms: ms + untilMs - sinceMs, untilMs }), this.#past)
    this.#spans = merged.slice(old.length)
  }

  /** With what others have waited up to a moment. */
  #sum(momentMs: number): number {
    const open = [...(this.#open ?? [])].map(({ sinceMs, untilMs }) => ({
      sinceMs,
      untilMs: Math.min(untilMs, momentMs),
    }))
    const spans = mergedSpans([...this.#spans, ...open.map((span) => this.#afterPast(span))])
    return spans.reduce((ms, { sinceMs, untilMs }) => ms + untilMs - sinceMs, this.#past.ms)
  }

  #afterPast({ sinceMs, untilMs }: Span): Span {
    return { sinceMs: Math.max(sinceMs, this.#past.untilMs), untilMs }
  }
}

/** The same moments, in order, without those that have no length. */
function mergedSpans(spans: readonly Span[]): readonly Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((one, other) => one.sinceMs - other.sinceMs)) {
    const last = merged.at(-1)
    if (span.untilMs <= span.sinceMs) continue
    if (last === undefined || span.sinceMs > last.untilMs) merged.push(span)
    else merged[merged.length - 1] = { sinceMs: last.sinceMs, untilMs: Math.max(last.untilMs, span.untilMs) }
  }
  return merged
}
