import { isJsonObject, type SharedBudget } from '@halting/core/adapters'
import type { ProcessIdentity } from '@halting/journal/files'
import {
  areReservationsConsistent,
  type Correctable,
  type LedgerState,
  type PeriodPlace,
  type Periods,
  type Reservation,
  type Waiter,
} from './ledger-state.ts'

const version = 1

type Read =
  | { readonly kind: 'ledger'; readonly state: LedgerState }
  | { readonly kind: 'newer' }
  | { readonly kind: 'damaged'; readonly why: string }

/**
 * Cached JSON text of states. States are never mutated, and most of a ledger is unchanged between two writes.
 * Serializing the whole ledger took two thirds of the time.
 */
const texts = new WeakMap<object, string>()

function textOf(value: object, write: () => string = () => JSON.stringify(value)): string {
  const present = texts.get(value)
  if (present !== undefined) return present
  const text = write()
  texts.set(value, text)
  return text
}

function recordText<T extends object>(record: Readonly<Record<string, T>>, write: (value: T) => string): string {
  return `{${Object.entries(record)
    .map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`)
    .join(',')}}`
}

/** The ledger as the text of its file. */
export function ledgerText({ scopes, reservations, correctable, waiters }: LedgerState): string {
  const periodsText = (periods: Periods): string =>
    textOf(periods, () => recordText(periods, (budget) => textOf(budget)))
  const lists = [
    `"reservations":${textOf(reservations)}`,
    `"correctable":${textOf(correctable)}`,
    `"waiters":${textOf(waiters)}`,
  ]
  return `{"version":${version},"scopes":${recordText(scopes, periodsText)},${lists.join(',')}}\n`
}

/**
 * Parses the text of a ledger file. Anything that is not exactly a ledger counts as damaged: a partial ledger would
 * understate spending.
 */
export function readLedger(text: string): Read {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    return { kind: 'damaged', why: text.trim() === '' ? 'it is empty' : 'it is not valid JSON' }
  }
  if (!isJsonObject(content)) return { kind: 'damaged', why: 'it is not a JSON object' }
  if (typeof content['version'] === 'number' && content['version'] > version) return { kind: 'newer' }
  if (content['version'] !== version) return { kind: 'damaged', why: 'it has no version' }
  const { scopes, reservations, correctable, waiters } = content as Readonly<Record<string, unknown>>
  const other = (part: string): Read => ({ kind: 'damaged', why: `"${part}" is not what halting writes` })
  if (!isRecordOf(scopes, (periods): periods is Periods => isRecordOf(periods, isBudget))) return other('scopes')
  if (!isListOf(reservations, isReservation)) return other('reservations')
  if (!isListOf(correctable, isCorrectable)) return other('correctable')
  if (!isListOf(waiters, isWaiter)) return other('waiters')
  const state: LedgerState = { scopes: sorted(scopes), reservations, correctable, waiters }
  return areReservationsConsistent(state)
    ? { kind: 'ledger', state }
    : { kind: 'damaged', why: 'what is reserved is not the sum of its reservations' }
}

function sorted(scopes: LedgerState['scopes']): LedgerState['scopes'] {
  return Object.fromEntries(
    Object.entries(scopes).map(([scope, periods]) => [
      scope,
      Object.fromEntries(Object.entries(periods).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    ]),
  )
}

function isRecordOf<T>(value: unknown, isValue: (value: unknown) => value is T): value is Record<string, T> {
  return isJsonObject(value) && Object.values(value).every(isValue)
}

function isListOf<T>(value: unknown, isItem: (value: unknown) => value is T): value is T[] {
  return Array.isArray(value) && value.every(isItem)
}

function isBudget(value: unknown): value is SharedBudget {
  if (!isJsonObject(value)) return false
  const { limitNanos, leasedNanos, spentNanos, unknownNanos, holders } = value
  return (
    limitNanos === null &&
    isAmount(leasedNanos) &&
    isAmount(spentNanos) &&
    isAmount(unknownNanos) &&
    isAmount(holders) &&
    leasedNanos >= spentNanos &&
    spentNanos >= unknownNanos
  )
}

function isReservation(value: unknown): value is Reservation {
  return isJsonObject(value) && isProcess(value['process']) && isCharge(value)
}

const reasons: readonly unknown[] = ['process ended', 'not reported', 'corrected'] satisfies Correctable['why'][]

function isCorrectable(value: unknown): value is Correctable {
  return isJsonObject(value) && reasons.includes(value['why']) && isCharge(value)
}

function isCharge(value: Readonly<Record<string, unknown>>): boolean {
  const { id, session, model, repository, nanos, places, since } = value
  return (
    [id, session, model, repository].every((text) => typeof text === 'string') &&
    isAmount(nanos) &&
    isListOf(places, isPlace) &&
    typeof since === 'number'
  )
}

function isWaiter(value: unknown): value is Waiter {
  if (!isJsonObject(value)) return false
  const { id, process, scopes, since } = value
  const isText = (each: unknown): each is string => typeof each === 'string'
  return isText(id) && isProcess(process) && isListOf(scopes, isText) && typeof since === 'number'
}

function isPlace(value: unknown): value is PeriodPlace {
  return isJsonObject(value) && typeof value['scope'] === 'string' && typeof value['period'] === 'string'
}

function isProcess(value: unknown): value is ProcessIdentity {
  if (!isJsonObject(value)) return false
  const { pid, began, host } = value
  return typeof pid === 'number' && typeof began === 'string' && typeof host === 'string'
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
