import { laterWaits, type ServiceWaits } from '../model/service-waits.ts'
import type { RunEvent } from '../state/events.ts'
import type { Usage } from '../model/messages.ts'

/** The recorded charge of one attempt. `known: false`: the service did not report its usage, so the worst case is charged. */
export type Charge = {
  readonly model: string
  readonly nanos: number
  readonly tokens: number
  readonly known: boolean
  /** Of the model that was asked, all its passes. */
  readonly usage: Usage | null
  /** The part of other models, which the service asked by itself. */
  readonly others?: readonly { readonly model: string; readonly nanos: number; readonly usage: Usage }[]
  /** For people: what was wrong with the usage of the service, or with the prices. */
  readonly note?: string
}

/** What questions beside the conversation came to, as it stands in the record of whoever asked them. */
export type Bill = {
  readonly charges: readonly Charge[]
  /** Events beside the start and the end of whoever asked: retries and notices. */
  readonly told: readonly RunEvent[]
  /** What was waited for services; absent for nothing. */
  readonly waits?: ServiceWaits
}

/** A bill as it goes on record. */
export function recordOf({ charges, told, waits }: Bill): Bill {
  return waits === undefined ? { charges, told } : { charges, told, waits }
}

/** A bill while it is being made. Nothing is entered in the run before somebody does it. */
export class OpenBill implements Bill {
  readonly charges: Charge[] = []
  readonly told: RunEvent[] = []
  waits?: ServiceWaits

  /** What another process had made of it. */
  addAll({ charges, told, waits }: Bill): void {
    if (waits !== undefined) this.enterWait(waits)
    this.charges.push(...charges)
    this.told.push(...told)
  }

  charge(charge: Charge): void {
    this.charges.push(charge)
  }

  enterWait(waited: ServiceWaits): void {
    this.waits = laterWaits(this.waits, waited)
  }

  tell(event: RunEvent): void {
    this.told.push(event)
  }
}
