import type { ModelMessage } from '@halting/core'
import type { Home, Part, RenderedMessage, RenderedMessages } from './rendered-messages.ts'
import type { Slab } from './slab.ts'
import type { Breakpoints, TurnKind, WireFormat } from './wire-format.ts'

/** What the service is to see as one message: a message, or neighbours that were merged. Never empty. */
export interface Turn {
  readonly kind: TurnKind
  /** What must stand between the turn before it and this one. */
  readonly separator: string
  readonly parts: readonly Part[]
  /** What may not stand in it and waits for a later turn: see `TurnKind.answeredBy`. */
  readonly deferred: readonly Part[]
  /** The place of its first message in the list. */
  readonly from: number
}

/** Where a list of messages goes on. */
export interface TurnsStart {
  readonly from: number
  /** The kind of the turn before; null when there is none. */
  readonly lastKind: TurnKind | null
  /** What it deferred back. */
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
  let { lastKind: before, deferred: deferred } = start
  const add = (kind: TurnKind, parts: readonly Part[], from: number): void => {
    const separator = before === null ? '' : (format.between?.(before, kind) ?? '')
    turns.push({ kind, separator, parts, deferred: deferred, from })
    before = kind
  }
  /** A turn of what was deferred back, where the reply that it earlier for is whole. */
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

/** The newest turns that get a breakpoint, as places among `turns`, in order. */
export function markedTurns(turns: readonly Turn[], breakpoints: Breakpoints | undefined): readonly number[] {
  const marked: number[] = []
  if (breakpoints === undefined) return marked
  for (let index = turns.length - 1; index >= 0 && marked.length < breakpoints.turns; index--) {
    if (turns[index]?.kind.takesBreakpoint === true) marked.unshift(index)
  }
  return marked
}

/** About what the turns take. */
export function lengthOf(turns: readonly Turn[]): number {
  let length = 0
  for (const { kind, separator, parts } of turns) {
    length += separator.length + kind.opening.length + kind.closing.length + 2
    for (const part of parts) length += part.length + 2
  }
  return length
}

/** `fields`: what its last value has besides its own. */
export function writeTurn(slab: Slab, turn: Turn, fields: string): void {
  begin(slab, turn)
  forEachPart(turn, slab, (part) => part.write(slab))
  if (fields !== '') {
    slab.truncate(slab.length - '}'.length)
    slab.write(`${fields}}`)
  }
  slab.write(turn.kind.closing)
}

/** Writes a turn where it stays. `base` is where the messages begin in `slab`. */
export function settleTurn(slab: Slab, turn: Turn, home: Home, base: number): void {
  begin(slab, turn)
  forEachPart(turn, slab, (part) => part.settle(slab, home, base))
  slab.write(turn.kind.closing)
}

const openBracket = 0x5b
const comma = 0x2c

function begin(slab: Slab, { kind, separator }: Turn): void {
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
