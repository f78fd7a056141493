import { zeroAmount, type Reservation } from '../limits/ledger.ts'
import { maxOfGrant } from '../limits/recorded-amount.ts'
import type { StandingReservation } from '../limits/standing-budgets.ts'
import type { AbortCause } from '../values/abort.ts'
import { usdOf } from '../model/prices.ts'
import type { Emit, FundsWanted, RunEvent } from '../state/events.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { Usage } from '../model/messages.ts'
import type { Admission, LookedUpUsage, Model, ModelUpdate } from '../model/model.ts'
import type { StepResult } from '../steps/step-engine.ts'
import type { Run } from '../run/run.ts'
import type { Charge } from '../run/request-bill.ts'
import { waitUntilCutOff, timeoutWhileWaitingForFunds } from './question-timeout.ts'
import { lookedUpCharge, noCharge, restoreForAgent, unknownCharge } from './charge.ts'
import { estimateRequest } from './estimate.ts'
import type { Grant, OverBudget } from './grant.ts'
import { lookUpLostUsage, replyRecorder } from './lost-usage.ts'
import { ModelCall } from './model-call.ts'
import type { Attempt, MadeAttempt, RequestPlan } from './request-plan.ts'
import { refusedShortage, reserveGrowing, reserveRequest, type ReservedGrant, type Shortage } from './reserve.ts'
import {
  standingBudgetRefusal,
  StandingBudgetRequest,
  usesStandingBudgets,
  withStandingReservation,
  type StandingAnswer,
  type StandingWaited,
} from './reserve-standing.ts'
import { emitFigures } from './emit-figures.ts'
import {
  figuresOfWait,
  LeasePlace,
  leaseWaited,
  leaseWaitMs,
  waitForLease,
  waitInProcess,
  type LeaseWaited,
} from './wait-for-lease.ts'
import { waitForFunds, type FundsWait } from './wait-for-funds.ts'
import { wellFormedRequest } from './well-formed-request.ts'

type OnUpdate = (update: ModelUpdate, emit: Emit) => void

/** Makes one attempt at the request: reserve, call and settle in one step. Waits before it have their own steps. */
export function makeAttempt(
  run: Run,
  plan: RequestPlan,
  attempt: number,
  onUpdate: OnUpdate,
  asker: Reporter,
): MaybePromise<StepResult<Attempt>> {
  const { lease } = run.context.settings
  if (lease === null && plan.model.admit === undefined)
    return fundAttempt({ run, plan, attempt, onUpdate, asker, place: undefined }, {}, firstWaits)
  const place = new LeasePlace()
  return andThen(admitAttempt({ run, plan, attempt, onUpdate, asker, place }, firstWaits), (result) => {
    place.leave()
    return result
  })
}

/** How often an attempt has asked its lease and the admission queue of its model, and how often it has waited for reservations of its session. */
interface WaitCounts {
  readonly admits: number
  readonly funds: number
  /** What the attempt waits for at the lease, and for how many milliseconds it has been waiting. */
  readonly ofLease?: {
    readonly wanted: LeaseWaited
    readonly waitedMs: number
    /** Milliseconds since the lease was last checked for returned money. */
    readonly quietMs: number
    readonly isOver: boolean
  }
}

const firstWaits: WaitCounts = { admits: 1, funds: 1 }

/**
 * The recorded outcome of asking for admission. The attempt itself does not depend on it. From the second time on, it
 * says whether there is enough, so that the end of the wait can be reported.
 */
type AdmitRecord = { readonly waits: LeaseWaited } | { readonly outcome: 'granted' | 'refused' } | null

/** The step name of an attempt; the first has no number. */
function numberedStepName(name: string, { plan, attempt }: AttemptContext, number: number): string {
  return `${name}:${plan.name}.${attempt}${number === 1 ? '' : `.${number}`}`
}

/** Asks the model's admission queue and the lease, and waits for money reserved by other sessions. */
function admitAttempt(attemptContext: AttemptContext, waits: WaitCounts): MaybePromise<StepResult<Attempt>> {
  const { run, plan } = attemptContext
  const { admits, ofLease } = waits
  const name = numberedStepName('admit', attemptContext, admits)
  // A program without a lease and without service limits may have recorded the attempt. A recorded attempt is not made
  // again, so nothing is reserved for it.
  if (!isOnRecord(run, name) && isOnRecord(run, attemptName(attemptContext)))
    return fundAttempt(attemptContext, {}, waits)
  let resources: AttemptResources = {}
  // The intent of the attempt contains its reservation: no other part of this step is read again.
  const admitted = stepFunctionOf(run, plan)<AdmitRecord>(name, async ({ signal }) => {
    const acquired = await askToAdmit(attemptContext, waits, signal)
    if ('waits' in acquired) return acquired
    resources = acquired
    if (ofLease === undefined) return null
    return {
      outcome: grantOf(acquired.funds) === undefined && acquired.funds?.kind !== 'short' ? 'refused' : 'granted',
    }
  })
  releaseOnFailure(run, admitted, () => resources)
  return andThen(admitted, ({ value, replayed }) => {
    if (value !== null && 'waits' in value) return awaitLease(attemptContext, value.waits, waits)
    const { ofLease: _, ...nextWaits } = waits
    if (value !== null && ofLease !== undefined)
      attemptContext.asker.report({
        type: 'budget_waited',
        outcome: value.outcome,
        waitedMs: ofLease.waitedMs,
        ...figuresOfWait(ofLease.wanted),
      })
    return mustAskAgain(attemptContext, nextWaits, replayed)
      ? admitAttempt(attemptContext, { ...nextWaits, admits: admits + 1 })
      : fundAttempt(attemptContext, resources, nextWaits)
  })
}

/**
 * Whether the lease must be asked again, because the reservations of a process that has ended are gone. If the record
 * continues, it shows whether that happened.
 */
function mustAskAgain(attemptContext: AttemptContext, { admits, funds }: WaitCounts, replayed: boolean): boolean {
  const { run } = attemptContext
  if (run.context.settings.lease === null) return false
  if (isOnRecord(run, numberedStepName('admit', attemptContext, admits + 1))) return true
  return (
    replayed &&
    !isOnRecord(run, attemptName(attemptContext)) &&
    !isOnRecord(run, numberedStepName('funds', attemptContext, funds))
  )
}

/**
 * Admission precedes the reservation, so that a request with a reservation waits for nothing else. A request that waits
 * for the lease blocks no other request in the admission queue.
 */
async function askToAdmit(
  { run, plan }: AttemptContext,
  { ofLease }: WaitCounts,
  signal: AbortSignal,
): Promise<AttemptResources | { readonly waits: LeaseWaited }> {
  const { lease } = run.context.settings
  const { model, cutOff } = plan
  const tokens = plan.contextAfter(null) + plan.cap
  // The attempt itself reports an abort. The call reports any other problem.
  const admission = await waitForAdmission(model, { tokens, signal, cutOff })
  if (lease === null) return { admission }
  const funds = await reserveGrowing(run, plan, lease, { signal, isWaitOver: ofLease?.isOver === true })
  if (funds.kind !== 'lease_short') return { admission, funds }
  admission?.leave()
  return { waits: leaseWaited(funds, lease.name) }
}

// Spec R-FUND-1.
/** Waits for the lease, then requests an amount from it again. */
function awaitLease(
  attemptContext: AttemptContext,
  wanted: LeaseWaited,
  waits: WaitCounts,
): MaybePromise<StepResult<Attempt>> {
  const { run, plan, asker, place = new LeasePlace() } = attemptContext
  const { admits, ofLease } = waits
  const { cutOff } = plan
  const name = numberedStepName('lease', attemptContext, admits)
  const waiting =
    cutOff === undefined
      ? waitForLease(run, { key: run.key(name), wanted, place })
      : andThen(
          stepFunctionOf(run, plan)(name, () => waitInProcess(run, { wanted, place, cutOff })),
          ({ value }) => value,
        )
  return andThen(waiting, ({ outcome, waitedMs }) => {
    const inAllMs = (ofLease?.waitedMs ?? 0) + waitedMs
    const sinceOverMs = (ofLease?.quietMs ?? 0) + waitedMs
    const isOver = outcome === 'over' && sinceOverMs >= leaseWaitMs
    if (outcome !== 'aborted') {
      const leaseWait = { wanted, waitedMs: inAllMs, quietMs: isOver ? 0 : sinceOverMs, isOver }
      return admitAttempt(attemptContext, { ...waits, admits: admits + 1, ofLease: leaseWait })
    }
    asker.report({ type: 'budget_waited', outcome, waitedMs: inAllMs, ...figuresOfWait(wanted) })
    const { ofLease: _, ...nextWaits } = waits
    return fundAttempt(attemptContext, {}, nextWaits)
  })
}

function attemptName({ plan, attempt }: AttemptContext): string {
  return `${plan.name}.${attempt}`
}

interface AdmissionRequest {
  readonly tokens: number
  readonly signal: AbortSignal
  readonly cutOff: AbortSignal | undefined
}

/** If the admission arrives after the question timed out, it is released. */
async function waitForAdmission(
  model: Model,
  { tokens, signal, cutOff }: AdmissionRequest,
): Promise<Admission | undefined> {
  const admit = async (signalOfQueue: AbortSignal): Promise<Admission | undefined> =>
    model.admit?.({ tokens, signal: signalOfQueue })
  try {
    return await waitUntilCutOff(cutOff, signal, admit, (late) => late?.leave())
  } catch {
    return undefined
  }
}

/** One attempt in progress. */
interface AttemptContext {
  readonly run: Run
  readonly plan: RequestPlan
  readonly attempt: number
  readonly onUpdate: OnUpdate
  readonly asker: Reporter
  /** Its place in the queue of the lease; undefined if there is no lease. */
  readonly place: LeasePlace | undefined
}

/** Emits events that belong to no step. */
interface Reporter {
  report(event: RunEvent): void
}

/** What this process has acquired for the attempt before it begins. */
interface AttemptResources {
  readonly admission?: Admission | undefined
  readonly funds?: ReservedGrant | Shortage | undefined
  readonly standing?: StandingReservation
}

// Spec R-BUD-18.
/** Reserves for an attempt that is not on record. Waits if the request would fit once others return their reservations. */
function fundAttempt(
  attemptContext: AttemptContext,
  resources: AttemptResources,
  waits: WaitCounts,
): MaybePromise<StepResult<Attempt>> {
  const { run, plan, asker } = attemptContext
  if (!run.ports.ledger.limited) return lookUpAttempt(attemptContext, resources)
  const name = numberedStepName('funds', attemptContext, waits.funds)
  let { funds } = resources
  if (!isOnRecord(run, name)) {
    if (isOnRecord(run, attemptName(attemptContext))) return reserveStanding(attemptContext, resources)
    funds ??= reserveRequest(run, plan)
    if (funds.kind === 'decided') return reserveStanding(attemptContext, { ...resources, funds })
  }
  const shortage = funds?.kind === 'short' ? funds : undefined
  let reserved: ReservedGrant | undefined
  const waited = stepFunctionOf(run, plan)<FundsWait>(name, async ({ emit }) => {
    // This cannot happen: either the step is on record, or the shortage was just found.
    if (shortage === undefined) throw new Error('a wait needs what it waits for')
    const result = await waitForFunds(run, plan, shortage, emit)
    reserved = result.reserved
    return result.record
  })
  releaseOnFailure(run, waited, () => ({ ...resources, funds: reserved }))
  return andThen(waited, ({ value: fundsWanted, at, durationMs, replayed }) => {
    const { outcome, neededUsd, neededTokens, reservedUsd, reservedTokens, holders } = fundsWanted
    const figures: FundsWanted = { neededUsd, neededTokens, reservedUsd, reservedTokens, holders }
    asker.report({ type: 'budget_waited', outcome, waitedMs: durationMs, ...figures })
    if (fundsWanted.outcome === 'aborted') {
      releaseResources(run, resources)
      return { value: withoutRequest(plan, fundsWanted.cause, undefined), at, durationMs, replayed }
    }
    const nextWaits = { ...waits, funds: waits.funds + 1 }
    // Other sessions may have returned money that the lease could not offer before.
    const isShortOfLease = reserved?.grant.isOfLease === true
    if (mustAskAgain(attemptContext, nextWaits, replayed || isShortOfLease)) {
      releaseResources(run, { ...resources, funds: reserved })
      return admitAttempt(attemptContext, { ...nextWaits, admits: waits.admits + 1 })
    }
    // If another process waited, this process has no reservation.
    return reserved === undefined
      ? fundAttempt(attemptContext, resources, nextWaits)
      : reserveStanding(attemptContext, { ...resources, funds: reserved })
  })
}

// Spec R-STAND-2.
/** Reserves the amount in the standing budgets, and waits until other requests return their reservations. */
function reserveStanding(
  attemptContext: AttemptContext,
  resources: AttemptResources,
  wait = 1,
): MaybePromise<StepResult<Attempt>> {
  const { run, plan, attempt, asker } = attemptContext
  const { funds } = resources
  const name = `standing:${plan.name}.${attempt}${wait === 1 ? '' : `.${wait}`}`
  const isWaitOnRecord = isOnRecord(run, name)
  const granted = grantOf(funds)
  // In record-only mode, the attempt is either on record or refused, so nothing is reserved for it.
  const isAnswered = granted === undefined || run.ports.isRecordOnly || !usesStandingBudgets(run, plan)
  if (!isWaitOnRecord && isAnswered) return lookUpAttempt(attemptContext, resources)
  const ask = granted && new StandingBudgetRequest(run, plan, granted)
  let standingAnswer: MaybePromise<StandingAnswer> | undefined
  if (!isWaitOnRecord && ask !== undefined) {
    try {
      standingAnswer = ask.ask()
    } catch (error) {
      releaseResources(run, resources)
      throw error
    }
    if (!(standingAnswer instanceof Promise)) return applyStandingAnswer(attemptContext, resources, standingAnswer)
  }
  let answer: StandingAnswer | undefined
  const waited = stepFunctionOf(run, plan)<StandingWaited>(name, async ({ emit }) => {
    // This cannot happen: either the step is on record, or there is a grant to ask with.
    if (ask === undefined) throw new Error('a wait for standing budgets needs its grant')
    const result = await ask.wait(Promise.resolve(standingAnswer ?? ask.ask()), emit)
    answer = result.answer
    return result.record
  })
  if (standingAnswer !== undefined) ask?.leaveOnFailure(waited, standingAnswer, () => answer !== undefined)
  releaseOnFailure(run, waited, () => ({ ...resources, ...(answer?.kind === 'taken' && { standing: answer }) }))
  return andThen(waited, ({ value: { outcome, cause, ...waitFigures }, at, durationMs, replayed }) => {
    asker.report({ type: 'budget_waited', outcome, waitedMs: durationMs, ...waitFigures })
    if (answer !== undefined) return applyStandingAnswer(attemptContext, resources, answer)
    // If another process waited, this process has no reservation.
    if (outcome !== 'aborted') return reserveStanding(attemptContext, resources, wait + 1)
    releaseResources(run, resources)
    return { value: withoutRequest(plan, cause, granted), at, durationMs, replayed }
  })
}

function grantOf(funds: AttemptResources['funds']): Grant | undefined {
  return funds?.kind === 'decided' && funds.grant.granted ? funds.grant : undefined
}

/** Continues with the answer of the standing budgets: a reservation or a refusal. */
function applyStandingAnswer(
  attemptContext: AttemptContext,
  resources: AttemptResources,
  answer: StandingAnswer,
): MaybePromise<StepResult<Attempt>> {
  const { run, plan } = attemptContext
  const { funds } = resources
  const granted = grantOf(funds)
  if (funds?.kind !== 'decided' || granted === undefined) return lookUpAttempt(attemptContext, resources)
  if (answer.kind === 'taken')
    return lookUpAttempt(attemptContext, {
      ...resources,
      funds: withStandingReservation(run, plan, funds, answer),
      standing: answer,
    })
  if (funds.reservation !== undefined) run.ports.ledger.settle(funds.reservation, zeroAmount)
  const grant = standingBudgetRefusal(run, plan, granted, answer.budget)
  return lookUpAttempt(attemptContext, { ...resources, funds: { kind: 'decided', grant, reservation: undefined } })
}

/** The outcome when an abort or the timeout of a question ended the wait for money: no request was made. */
function withoutRequest({ model }: RequestPlan, cause: AbortCause | undefined, grant: Grant | undefined): Attempt {
  const charge = noCharge(model)
  if (cause !== undefined || grant === undefined)
    return { kind: 'aborted', cause: cause ?? 'user', partial: null, charge }
  return { kind: 'failed', error: timeoutWhileWaitingForFunds(), charge, grant }
}

/** Returns the reservations of an attempt that is not made. */
function releaseResources(run: Run, { admission, funds, standing }: AttemptResources): void {
  admission?.leave()
  standing?.settle(0, true)
  const { ledger } = run.ports
  const reservation = funds?.kind === 'decided' ? funds.reservation : undefined
  if (reservation !== undefined) ledger.settle(reservation, zeroAmount)
  ledger.lease?.end(reservation)
}

/** Returns the reservations if the step fails, since other requests may wait for them. */
function releaseOnFailure(run: Run, step: MaybePromise<unknown>, resources: () => AttemptResources): void {
  if (!(step instanceof Promise)) return
  step.catch(() => releaseResources(run, resources()))
}

function isOnRecord(run: Run, name: string): boolean {
  return run.ports.steps.peek(run.key(name)) !== 'absent'
}

function stepFunctionOf(run: Run, plan: RequestPlan): Run['step'] {
  return plan.isConcurrent === true ? run.stepConcurrently.bind(run) : run.step.bind(run)
}

function lookUpAttempt(attemptContext: AttemptContext, resources: AttemptResources): MaybePromise<StepResult<Attempt>> {
  const { run, plan } = attemptContext
  const lookedUp = lookUpLostUsage({ run, plan, name: attemptName(attemptContext) }, stepFunctionOf(run, plan))
  return andThen(lookedUp, (result) => sendAttempt(attemptContext, resources, result))
}

/** Makes the attempt. `known`: what the service reports about a lost attempt. */
function sendAttempt(
  attemptContext: AttemptContext,
  { admission, funds, standing }: AttemptResources,
  lookedUp: LookedUpUsage | undefined,
): MaybePromise<StepResult<Attempt>> {
  const { run, plan, attempt } = attemptContext
  const { ledger } = run.ports
  let reserved = funds?.kind === 'decided' ? funds : undefined
  let hasBegun = false
  /** If the step engine failed: a request that may have been sent counts at its worst case; otherwise the reservation is returned. */
  const settleAfterFailure = (): void => {
    const reservation = reserved?.reservation
    if (reservation !== undefined) ledger.settle(reservation, hasBegun ? reservation.amount : zeroAmount, !hasBegun)
    standing?.settle(hasBegun ? standing.usd : 0, !hasBegun)
  }
  // The run's clock advances by this step once the attempt is awaited.
  const name = attemptName(attemptContext)
  const sent = run.stepConcurrently<Attempt>(
    name,
    ({ emit, idempotencyKey }) => {
      if (reserved === undefined) throw new Error('a request needs its grant')
      hasBegun = true
      const { grant, reservation } = reserved
      const cause = run.ports.abort.causeNow()
      if (!grant.granted) {
        admission?.leave()
        // Aborted while it waited for the lease or for the next attempt.
        if (cause !== undefined) return { kind: 'aborted', cause, partial: null, charge: noCharge(plan.model) }
        return { kind: 'over_budget', overBudget: grant }
      }
      const request = wellFormedRequest(plan.body(grant, idempotencyKey))
      const settle = (attempted: MadeAttempt): MadeAttempt => {
        settleAttempt(run, attempted.charge, { reservation, standing })
        if (!run.ports.hasListener()) return attempted
        if (plan.isQuestion === true) emit(endOfQuestion(plan, attempt, attempted))
        emitFigures(run, emit, plan.contextAfter(usageReportedBy(attempted)))
        return attempted
      }
      if (plan.isQuestion === true && run.ports.hasListener())
        emit({ type: 'question_start', name: plan.name, attempt, model: plan.model.id })
      if (reservation !== undefined && run.ports.hasListener()) emitFigures(run, emit, estimateRequest(run))
      if (cause !== undefined) {
        admission?.leave()
        return settle({ kind: 'aborted', cause, partial: null, charge: noCharge(plan.model), grant })
      }
      const listener = { onUpdate: attemptContext.onUpdate, emit, recordReply: replyRecorder({ run, plan, name }) }
      const call = new ModelCall(run, plan, grant, request, listener, admission)
      return run.withGrace(
        () => call.start(),
        (settled) => settle(call.end(settled)),
      )
    },
    {
      digest: () => plan.digest(),
      intent: () => {
        if (reserved === undefined) {
          const reservedNow = reserveRequest(run, plan)
          reserved = reservedNow.kind === 'short' ? refusedShortage(reservedNow) : reservedNow
        }
        if (reserved.reservation !== undefined) ledger.lease?.begin(reserved.reservation)
        return reserved.grant
      },
      // The stored intent of this key is the value returned by `intent` above.
      onUnfinished: (intent) => unfinishedAttempt(run, plan, intent as Grant | OverBudget, lookedUp),
      sync: ledger.limited ? 'intent' : 'none',
    },
  )
  if (sent instanceof Promise && mayHoldReservation(reserved, standing)) sent.catch(settleAfterFailure)
  return whenRecorded(run, sent, () => ledger.lease?.end(reserved?.reservation))
}

/** Whether a failure may have to return a reservation. The reservation is already known, unless the step engine calls `intent` later. */
function mayHoldReservation(reserved: ReservedGrant | undefined, standing: StandingReservation | undefined): boolean {
  return reserved === undefined || reserved.reservation !== undefined || standing !== undefined
}

/** Once the outcome of an attempt is on record, updates the lease and the ledger of a subagent. */
function whenRecorded(
  run: Run,
  sent: MaybePromise<StepResult<Attempt>>,
  notifyLease: () => void,
): MaybePromise<StepResult<Attempt>> {
  const isOfAgent = run.identity.depth > 0
  if (!isOfAgent && run.ports.ledger.lease === undefined) return sent
  return andThen(sent, (result) => {
    notifyLease()
    if (isOfAgent && result.replayed && 'charge' in result.value) restoreForAgent(run, [result.value.charge])
    return result
  })
}

interface AttemptReservations {
  readonly reservation: Reservation | undefined
  readonly standing: StandingReservation | undefined
}

/** Replaces all reservations of an attempt with its real charge. */
function settleAttempt({ ports }: Run, charge: Charge, { reservation, standing }: AttemptReservations): void {
  if (reservation !== undefined) ports.ledger.settle(reservation, charge, charge.known)
  // A run without a limit may get one later.
  else ports.ledger.restore(charge, charge.known ? zeroAmount : charge)
  standing?.settle(usdOf(charge.nanos), charge.known)
}

/** The outcome of an intent without a result: the request may have been made. */
function unfinishedAttempt(
  run: Run,
  plan: RequestPlan,
  intent: Grant | OverBudget,
  lookedUp: LookedUpUsage | undefined,
): Attempt {
  if (!intent.granted) return { kind: 'over_budget', overBudget: intent }
  if (lookedUp !== undefined) return lookedUpAttempt(run, plan, intent, lookedUp)
  const charge = unknownCharge(run, plan, intent)
  // The resume restored the recorded worst case to the ledger. Earlier versions recorded none for a run without a limit, which may have one now.
  if (intent.tokens === 0 && intent.most === undefined) run.ports.ledger.restore(charge, charge)
  return { kind: 'unknown', charge, grant: intent }
}

// Spec R-BUD-21b.
/** Replaces the worst case, which the resume restored to the ledger, with the amount that the service reports. */
function lookedUpAttempt(run: Run, plan: RequestPlan, grant: Grant, lookedUp: LookedUpUsage): Attempt {
  const charge = lookedUpCharge(run, plan, grant, lookedUp)
  const counted = maxOfGrant(grant) ?? zeroAmount
  run.ports.ledger.correctRestored(counted, charge, charge.known)
  return { kind: 'unknown', charge, grant }
}

function endOfQuestion({ name, model }: RequestPlan, attempt: number, { kind, charge }: MadeAttempt): RunEvent {
  // A question that was lost with its process is not asked again at this point.
  const outcome = kind === 'unknown' ? 'failed' : kind
  const costUsd = usdOf(charge.nanos)
  return { type: 'question_end', name, attempt, model: model.id, outcome, usage: charge.usage, costUsd }
}

/** The usage as the service reported it, if it could be counted. */
function usageReportedBy(attempted: MadeAttempt): Usage | null {
  return attempted.kind === 'answered' && attempted.charge.usage !== null
    ? attempted.message.usage
    : attempted.charge.usage
}
