import { messageOf } from '@halting/core/adapters'
import type { ObjectState } from './conversation.ts'

/** Whose money a session spends. */
export type Tenancy = {
  readonly tenant: string
  /** The invocation that it was chosen for: no other session has that, also of the same name. */
  readonly began: string
  /** Its lease is made when it is chosen: what is asked for in its name without one comes late. Absent for sessions of earlier versions. */
  readonly isOpened?: true
}

const tenancyKey = 'tenancy'

export async function readTenancy(state: Pick<ObjectState, 'get'>): Promise<Tenancy | undefined> {
  return (await state.get<Tenancy>(tenancyKey)) ?? undefined
}

/** A session has one tenant as long as it is there. */
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
