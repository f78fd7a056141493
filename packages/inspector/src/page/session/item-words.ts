import { counted, elapsed, money } from '@halting/analysis/words'
import type { ItemKind, TimelineItem } from '@halting/analysis/view'

/** Singular names of the kinds. */
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

/** Whether an item took no active time, so that it is drawn as a mark. */
export function isMoment({ kind, waitedMs }: TimelineItem): boolean {
  return kind === 'lap' || kind === 'control' || kind === 'ending' || waitedMs !== undefined
}

/** Tokens, dollars and time of an item, without those that are zero. */
export function itemFigures(item: TimelineItem): readonly string[] {
  const { tokens, costUsd, startMs, endMs, waitedMs } = item
  return [
    ...(waitedMs === undefined ? [] : [`waited ${elapsed(waitedMs)}`]),
    ...(isMoment(item) ? [] : [endMs === null ? 'no end recorded' : elapsed(endMs - startMs)]),
    ...(tokens > 0 ? [`${counted(tokens)} tokens`] : []),
    ...(costUsd > 0 ? [money(costUsd)] : []),
  ]
}

/** Everything about an item on one line, for the pointer and for screen readers. */
export function itemLine(item: TimelineItem): string {
  const { kind, label, status, startMs } = item
  const name = `${kindNames[kind]}${label === '' ? '' : ` ${label}`}`
  return [name, ...(status === '' ? [] : [status]), ...itemFigures(item), `at ${elapsed(startMs)}`].join(', ')
}
