import { messageOf } from '@halting/core/adapters'
import type { ObjectState } from './conversation.ts'

/** The tenant of a session. */
export type Tenancy = {
  readonly tenant: string
  /** The invocation in which it was assigned; unique among sessions of the same name. */
  readonly began: string
  /** The lease was created with the assignment, so a request without a lease is late. Absent for sessions of earlier versions. */
  readonly isOpened?: true
}

const tenancyKey = 'tenancy'

export async function readTenancy(state: Pick<ObjectState, 'get'>): Promise<Tenancy | undefined> {
  return (await state.get<Tenancy>(tenancyKey)) ?? undefined
}

/** Assigns a tenant to the session, once for its lifetime. */
export async function assignTenancy(
  state: ObjectState,
  began: string,
  tenantOf: () => string | undefined,
): Promise<{ readonly tenancy?: Tenancy; readonly isNew?: true; readonly refusal?: string }> {
  const existing = await readTenancy(state)
  if (existing !== undefined) return { tenancy: existing }
  let tenant
  try {
    tenant = tenantOf()
  } catch (error) {
    return { refusal: messageOf(error) }
  }
  if (tenant === undefined) return {}
  const tenancy: Tenancy = { tenant, began, isOpened: true }
  state.set(tenancyKey, tenancy)
  return { tenancy, isNew: true }
}
