import { counted, elapsed, money } from '@halting/analysis/words'
import type { ItemKind, TimelineItem } from '@halting/analysis/view'

/** What a kind is called where there is one of it. */
export const kindNames = {
  turn: 'turn',
  attempt: 'model',
  tool: 'tool',
  hook: 'hook',
  compaction: 'compaction',
  check: 'check',
  wait: 'wait',
  agent: 'agent',
  lap: 'continued',
  control: 'person',
  ending: 'ending',
  other: 'other',
} satisfies Record<ItemKind, string>

/** Whether an item took no active time, whatever it is: it is drawn as a mark. */
export function isMoment({ kind, waitedMs }: TimelineItem): boolean {
  return kind === 'lap' || kind === 'control' || kind === 'ending' || waitedMs !== undefined
}

/** Tokens, dollars and time of an item, as far as it has some. */
export function figuresOf(item: TimelineItem): readonly string[] {
  const { tokens, costUsd, startMs, endMs, waitedMs } = item
  return [
    ...(waitedMs === undefined ? [] : [`waited ${elapsed(waitedMs)}`]),
    ...(isMoment(item) ? [] : [endMs === null ? 'no end recorded' : elapsed(endMs - startMs)]),
    ...(tokens > 0 ? [`${counted(tokens)} tokens`] : []),
    ...(costUsd > 0 ? [money(costUsd)] : []),
  ]
}

/** One line that says all of an item: what the pointer and a screen reader are told. */
export function itemLine(item: TimelineItem): string {
  const { kind, label, status, startMs } = item
  const name = `${kindNames[kind]}${label === '' ? '' : ` ${label}`}`
  return [name, ...(status === '' ? [] : [status]), ...figuresOf(item), `at ${elapsed(startMs)}`].join(', ')
}
