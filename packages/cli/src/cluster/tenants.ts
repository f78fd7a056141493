import type { Opening } from '@halting/restate'
import type { Flags } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

/** Whose budget a session of this worker spends from: what the worker says, or of those that it allows the one that the opening names. */
export function tenantFor({ tenant, allowedTenants = [] }: Flags, { tenant: wanted }: Opening): string | undefined {
  if (wanted === undefined) {
    if (tenant === undefined && allowedTenants.length > 0)
      throw new UsageError(
        'Sessions of this worker must name a tenant when they start (it has --allowed-tenants and no --tenant).',
      )
    return tenant
  }
  if (typeof wanted !== 'string' || wanted === '')
    throw new UsageError('tenant in the session options must be a string.')
  if (wanted === tenant || allowedTenants.includes(wanted)) return wanted
  throw new UsageError(
    `Sessions of this worker cannot use the tenant ${oneLine(wanted, 60)}: it is not among its --allowed-tenants.`,
  )
}
