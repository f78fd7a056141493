/** What ended a wait for a service. `model`: a person chose another model. `stopped`: the run was asked to stop. */
export type ServiceWaitEnd = 'over' | 'retried' | 'model' | 'stopped' | 'aborted'

/** Recorded with a failure that waiting may resolve: its wall-clock time, and how long the run could wait at that time. JSON. */
export type MayWait = { readonly atMs: number; readonly leftMs: number }

/**
 * Total wall-clock milliseconds that a run, its agents and its questions have waited for services. `untilMs`: the time
 * since 1970 up to which waits are included. Of two values, the later one includes the other. JSON.
 */
export type ServiceWaits = { readonly ms: number; readonly untilMs: number }

/** The later of the two, which includes the other. */
export function laterWaits(one: ServiceWaits | undefined, other: ServiceWaits): ServiceWaits {
  return one === undefined || other.ms >= one.ms ? other : one
}

/** A time span in milliseconds since 1970. */
interface Span {
  readonly sinceMs: number
  readonly untilMs: number
}

/** Maximum number of separate spans: older ones are only in the sum. */
const maxSpans = 1_000

const noSpans: readonly Span[] = Object.freeze([])
const noWaits: ServiceWaits = Object.freeze({ ms: 0, untilMs: 0 })

// Spec R-SERV-5a.
/** How long a run, its agents and its questions have waited for services. Overlapping waits count once. */
export class WaitTime {
  /** The total of the waits before the stored spans. */
  #past: ServiceWaits
  /** Later waits in order, without overlaps. */
  #spans: readonly Span[] = noSpans
  #open: Set<Span> | undefined

  constructor(before: ServiceWaits | undefined) {
    this.#past = before ?? noWaits
  }

  /** The end of the latest finished wait. */
  get #endedMs(): number {
    return Math.max(this.#past.untilMs, this.#spans.at(-1)?.untilMs ?? 0)
  }

  /**
   * Begins a wait that ends at `untilMs` at the latest. Call the returned function with the real end; it returns the
   * total up to that time. A live wait counts as later than all finished ones, regardless of the wall clock.
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

  /** Restores the total up to a time from a record, including waits of other runs. */
  restore(waited: ServiceWaits): void {
    if (waited.untilMs <= this.#past.untilMs) return
    this.#past = { ms: Math.max(waited.ms, this.#sum(waited.untilMs)), untilMs: waited.untilMs }
    this.#spans = mergedSpans(this.#spans.map((span) => this.#spansAfterPast(span)))
  }

  /** The maximum length of a wait that begins now. While others are already waiting, an additional wait costs no time. */
  leftMs(limitMs: number, wallMs: number): number {
    const nowMs = Math.max(wallMs, this.#endedMs)
    const othersMs = Math.max(0, ...[...(this.#open ?? [])].map(({ untilMs }) => untilMs - nowMs))
    return Math.max(othersMs, limitMs - this.#sum(nowMs))
  }

  #enter(span: Span): void {
    const merged = mergedSpans([...this.#spans, this.#spansAfterPast(span)])
    const old = merged.slice(0, Math.max(0, merged.length - maxSpans))
    this.#past = old.reduce(({ ms }, { sinceMs, untilMs }) => ({ ms: ms + untilMs - sinceMs, untilMs }), this.#past)
    this.#spans = merged.slice(old.length)
  }

  /** The total up to a time, including waits of others. */
  #sum(momentMs: number): number {
    const open = [...(this.#open ?? [])].map(({ sinceMs, untilMs }) => ({
      sinceMs,
      untilMs: Math.min(untilMs, momentMs),
    }))
    const spans = mergedSpans([...this.#spans, ...open.map((span) => this.#spansAfterPast(span))])
    return spans.reduce((ms, { sinceMs, untilMs }) => ms + untilMs - sinceMs, this.#past.ms)
  }

  #spansAfterPast({ sinceMs, untilMs }: Span): Span {
    return { sinceMs: Math.max(sinceMs, this.#past.untilMs), untilMs }
  }
}

/** Merges overlapping spans, in order, and drops empty ones. */
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
