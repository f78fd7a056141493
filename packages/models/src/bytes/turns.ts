import type { ModelMessage } from '@halting/core'
import type { Home, Part, RenderedMessage, RenderedMessages } from './rendered-messages.ts'
import type { Slab } from './slab.ts'
import type { Breakpoints, TurnKind, WireFormat } from './wire-format.ts'

/** What the service sees as one message: a message, or merged neighbours. Never empty. */
export interface Turn {
  readonly kind: TurnKind
  /** Separator between the previous turn and this one. */
  readonly separator: string
  readonly parts: readonly Part[]
  /** Parts that are deferred to a later turn: see `TurnKind.answeredBy`. */
  readonly deferred: readonly Part[]
  /** Index of its first message in the list. */
  readonly from: number
}

/** Where a list of messages continues. */
export interface TurnsStart {
  readonly from: number
  /** Kind of the previous turn; null if there was no turn. */
  readonly lastKind: TurnKind | null
  /** What the previous turn deferred. */
  readonly deferred: readonly Part[]
}

/** Messages that become one turn. */
interface Group {
  readonly kind: TurnKind
  readonly messages: RenderedMessage[]
  readonly from: number
}

export function turnsOf(
  messages: readonly ModelMessage[],
  start: TurnsStart,
  renderings: RenderedMessages,
  format: WireFormat,
): readonly Turn[] {
  const turns: Turn[] = []
  let { lastKind: before, deferred } = start
  const add = (kind: TurnKind, parts: readonly Part[], from: number): void => {
    const separator = before === null ? '' : (format.between?.(before, kind) ?? '')
    turns.push({ kind, separator, parts, deferred, from })
    before = kind
  }
  /** Adds a turn with deferred parts after a completed reply. */
  const addDeferred = (from: number): void => {
    const kind = format.deferredKind
    if (deferred.length === 0 || kind === undefined || before?.releasesDeferred !== true) return
    const parts = deferred
    deferred = []
    add(kind, parts, from)
  }
  for (const { kind, messages: merged, from } of groupsOf(messages, start.from, renderings)) {
    const firsts = partsOf(merged, 'first')
    const rests = partsOf(merged, 'rest')
    const answerKind = firsts.length > 0 ? before?.answeredBy : undefined
    if (answerKind !== undefined) {
      deferred = [...deferred, ...rests]
      add(answerKind, firsts, from)
    } else if (kind === format.deferredKind) {
      const earlier = deferred
      deferred = []
      add(kind, [...firsts, ...earlier, ...rests], from)
    } else {
      addDeferred(from)
      add(kind, [...firsts, ...rests], from)
    }
  }
  addDeferred(messages.length)
  return turns
}

function groupsOf(messages: readonly ModelMessage[], from: number, renderings: RenderedMessages): readonly Group[] {
  const groups: Group[] = []
  for (let index = from; index < messages.length; index++) {
    const message = messages[index]
    if (message === undefined) continue
    const rendered = renderings.of(message)
    if (rendered.first === null && rendered.rest === null) continue
    const { kind } = rendered
    const last = groups.at(-1)
    if (kind.merges && last?.kind === kind) last.messages.push(rendered)
    else groups.push({ kind, messages: [rendered], from: index })
  }
  return groups
}

function partsOf(messages: readonly RenderedMessage[], which: 'first' | 'rest'): readonly Part[] {
  const parts: Part[] = []
  for (const message of messages) {
    const part = message[which]
    if (part !== null) parts.push(part)
  }
  return parts
}

/** Returns the newest turns that get a breakpoint, as ascending indexes. */
export function markedTurns(turns: readonly Turn[], breakpoints: Breakpoints | undefined): readonly number[] {
  const marked: number[] = []
  if (breakpoints === undefined) return marked
  for (let index = turns.length - 1; index >= 0 && marked.length < breakpoints.turns; index--) {
    if (turns[index]?.kind.takesBreakpoint === true) marked.unshift(index)
  }
  return marked
}

/** Returns the approximate length of the turns. */
export function lengthOf(turns: readonly Turn[]): number {
  let length = 0
  for (const { kind, separator, parts } of turns) {
    length += separator.length + kind.opening.length + kind.closing.length + 2
    for (const part of parts) length += part.length + 2
  }
  return length
}

/** `fields` are added to its last value. */
export function writeTurn(slab: Slab, turn: Turn, fields: string): void {
  writeTurnStart(slab, turn)
  forEachPart(turn, slab, (part) => part.write(slab))
  if (fields !== '') {
    slab.truncate(slab.length - '}'.length)
    slab.write(`${fields}}`)
  }
  slab.write(turn.kind.closing)
}

/** Writes a turn to its final place. `base` is the start of the messages in `slab`. */
export function settleTurn(slab: Slab, turn: Turn, home: Home, base: number): void {
  writeTurnStart(slab, turn)
  forEachPart(turn, slab, (part) => part.settle(slab, home, base))
  slab.write(turn.kind.closing)
}

const openBracket = 0x5b
const comma = 0x2c

function writeTurnStart(slab: Slab, { kind, separator }: Turn): void {
  if (slab.last !== openBracket && slab.last !== comma) slab.write(',')
  if (separator !== '') slab.write(`${separator},`)
  slab.write(kind.opening)
}

function forEachPart({ parts }: Turn, slab: Slab, take: (part: Part) => void): void {
  for (const [index, part] of parts.entries()) {
    if (index > 0) slab.write(',')
    take(part)
  }
}
