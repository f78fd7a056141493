import { laterWaits, type ServiceWaits } from '../model/service-waits.ts'
import type { RunEvent } from '../state/events.ts'
import type { Usage } from '../model/messages.ts'

/** The recorded charge of one attempt. `known: false`: the service did not report its usage, so the worst case is charged. */
export type Charge = {
  readonly model: string
  readonly nanos: number
  readonly tokens: number
  readonly known: boolean
  /** Usage of the requested model, over all its passes. */
  readonly usage: Usage | null
  /** Usage of other models that the service called itself. */
  readonly others?: readonly { readonly model: string; readonly nanos: number; readonly usage: Usage }[]
  /** For people: what was wrong with the usage of the service, or with the prices. */
  readonly note?: string
}

/** The cost and events of side requests, as stored in the record of the step that made them. */
export type Bill = {
  readonly charges: readonly Charge[]
  /** Events other than the start and the end of the caller: retries and notices. */
  readonly told: readonly RunEvent[]
  /** Time spent waiting for services; absent for none. */
  readonly waits?: ServiceWaits
}

/** The recorded form of a bill. */
export function billRecord({ charges, told: events, waits }: Bill): Bill {
  return waits === undefined ? { charges, told: events } : { charges, told: events, waits }
}

/** A bill that is still being collected. Its charges reach the run only when the owner of the bill enters them. */
export class OpenBill implements Bill {
  readonly charges: Charge[] = []
  readonly told: RunEvent[] = []
  waits?: ServiceWaits

  /** Adds what an earlier process collected. */
  addAll({ charges, told: events, waits }: Bill): void {
    if (waits !== undefined) this.enterWait(waits)
    this.charges.push(...charges)
    this.told.push(...events)
  }

  charge(charge: Charge): void {
    this.charges.push(charge)
  }

  enterWait(waited: ServiceWaits): void {
    this.waits = laterWaits(this.waits, waited)
  }

  addEvent(event: RunEvent): void {
    this.told.push(event)
  }
}
