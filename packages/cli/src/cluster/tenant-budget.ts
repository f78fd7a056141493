import type { BudgetStatus, LeaseHolder, LeaseWaiter } from '@halting/restate'
import { proofHeaders } from '@halting/restate/client'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, money, oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { clusterTokens } from './cluster-token.ts'
import { requestEngine } from './engine-request.ts'

/** `halting cluster budget TENANT --cluster URL`: shows the shared budget of a tenant; `--max-budget-usd N` sets it. */
export async function tenantBudget(
  flags: Flags,
  [tenant, ...more]: readonly string[],
  { output, env }: Program,
): Promise<number> {
  if (tenant === undefined || tenant.trim() === '' || more.length > 0)
    throw new UsageError(
      'Usage: halting cluster budget TENANT --cluster URL. Set the shared limit of its sessions with --max-budget-usd X.',
    )
  if (flags.cluster === undefined)
    throw new UsageError('halting cluster budget needs the address of the cluster: --cluster http://127.0.0.1:8080.')
  const ingress = flags.cluster
  const [token] = clusterTokens(env)
  const callTenant = (handler: string, body?: unknown): Promise<unknown> => {
    const path = `/halting_budget/${encodeURIComponent(tenant)}/${handler}`
    const headers = proofHeaders(token, path, body === undefined ? '' : JSON.stringify(body))
    return requestEngine({ base: ingress, path, headers, body })
  }
  if (flags.maxBudgetUsd !== undefined) await callTenant('setLimit', flags.maxBudgetUsd)
  // This cast is safe: the object of a tenant returns this status. An unknown tenant has spent nothing.
  const status = (await callTenant('status')) as BudgetStatus
  // The list contains at most the first thousand holders.
  const holders = status.holders === 0 ? [] : ((await callTenant('holders')) as readonly LeaseHolder[])
  const waiters = hasWaiters(status) ? ((await callTenant('waiters')) as readonly LeaseWaiter[]) : []
  if (wantsJson(flags))
    output.out(`${JSON.stringify({ tenant, ...status, leases: holders, ...(waiters.length > 0 && { waiters }) })}\n`)
  else
    output.out(
      tenantLines(tenant, status, holders, waiters)
        .map((line) => `${line}\n`)
        .join(''),
    )
  if (flags.quiet !== true && !wantsJson(flags) && isUnused(status))
    output.err(
      programMessage(
        `no session has used this budget, and it has no limit. Use it with halting serve --tenant ${oneLine(tenant, 60)}.`,
      ),
    )
  return 0
}

/** Workers of earlier versions do not report it. */
function hasWaiters({ waiting }: Partial<BudgetStatus>): boolean {
  return waiting !== undefined && waiting > 0
}

function isUnused({ limitUsd, leasedUsd, holders }: BudgetStatus): boolean {
  return limitUsd === null && leasedUsd === 0 && holders === 0
}

function tenantLines(
  tenant: string,
  status: BudgetStatus,
  holders: readonly LeaseHolder[],
  waiters: readonly LeaseWaiter[],
): readonly string[] {
  const { limitUsd, settledUsd, unknownUsd, reservedUsd, leftUsd } = status
  const unknown = unknownUsd > 0 ? `, including ${money(unknownUsd)} at worst case` : ''
  return [
    `${oneLine(tenant, 100)}: ${limitUsd === null ? 'no limit' : `${money(limitUsd)} total`}`,
    `  settled   ${money(settledUsd)}${unknown}`,
    `  reserved  ${money(reservedUsd)}${status.holders === 0 ? '' : `, by ${many(status.holders, 'running session')}`}`,
    `  left      ${leftUsd === null ? 'no limit' : money(leftUsd)}`,
    ...holders.map(
      ({ session, leasedUsd, settledUsd: spentUsd }) =>
        `  ${oneLine(session, 100)}  ${money(leasedUsd - spentUsd)} reserved, ${money(spentUsd)} settled`,
    ),
    ...(hasWaiters(status) ? [`  waiting   ${many(status.waiting, 'session')}, served in this order`] : []),
    ...waiters.map(({ session, wantedUsd }) => `  ${oneLine(session, 100)}  waits for ${money(wantedUsd)}`),
  ]
}
