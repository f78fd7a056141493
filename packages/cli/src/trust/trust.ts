import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  changeTrust,
  folderTrust,
  isTooBroad,
  type Offer,
  readTrust,
  trustedByClaude,
  type TrustOwner,
} from '@halting/policy'
import { projectOffers } from '@halting/policy/settings'
import { realPath } from '@halting/agent'
import { homeFolder } from '@halting/policy/files'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import { tableLines } from '../io/table.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { askTrust, offersText } from './trust-question.ts'

/** `halting trust [FOLDER]`: shows what a folder's settings would run, and trusts it after confirmation; also `--list` and `--revoke`. */
export async function trust(flags: Flags, [word]: readonly string[], program: Program): Promise<number> {
  const { env, cwd, output } = program
  const owner: TrustOwner = { cwd, env, home: homeFolder(env) }
  if (flags.list === true) {
    if (word !== undefined || flags.revoke === true)
      throw new UsageError('halting trust --list takes no folder and no --revoke.')
    return list(flags, owner, program)
  }
  const folder = realPath(resolve(cwd, word ?? '.'))
  if (flags.revoke === true) return revoke(flags, { ...owner, cwd: folder }, program)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new UsageError(`halting trust takes an existing folder, not "${word}".`)
  }
  if (isTooBroad(folder, owner)) {
    throw new UsageError(
      `${folder} is too broad to trust: it contains more than projects, such as downloads. Trust the project folders in it.`,
    )
  }
  const { projectFileOffers } = await import('@halting/agent/instructions')
  const place = { ...owner, cwd: folder }
  const offers = [...(await projectOffers(place)), ...(await projectFileOffers(place))]
  if (!wantsJson(flags)) output.err(offersText(folder, offers))
  if (flags.yes !== true) {
    const canAsk = !wantsJson(flags) && program.stdin.isTTY && output.isTerminal.stderr
    if (!canAsk) return refuseUnasked(flags, place, offers, program)
    if (!(await askTrust({ stdin: program.stdin, stderr: process.stderr }))) {
      output.err(programMessage('nothing was trusted.'))
      return 1
    }
  }
  await changeTrust(owner, (records) => {
    records.set(folder, { trusted: true, since: new Date().toISOString(), offers: offers.map(({ id }) => id) })
  })
  if (wantsJson(flags)) output.out(offersJson(folder, offers, { trusted: true, lets: () => true }))
  else output.out(`Trusted: ${oneLine(folder, Infinity)}\n`)
  return 0
}

/** Refuses without a terminal, so that a script cannot trust a folder by accident. */
async function refuseUnasked(
  flags: Flags,
  place: TrustOwner,
  offers: readonly Offer[],
  { output }: Program,
): Promise<number> {
  if (wantsJson(flags)) output.out(offersJson(place.cwd, offers, await folderTrust(place)))
  const command = shellQuoted(['halting', 'trust', place.cwd, '--yes'])
  output.err(
    programMessage(`nothing was trusted: there is no terminal to ask in. Review the list, then run: ${command}`),
  )
  return 2
}

function offersJson(
  folder: string,
  offers: readonly Offer[],
  { trusted, lets }: { readonly trusted: boolean; readonly lets: (offer: Offer) => boolean },
): string {
  const rows = offers.map((offer) => ({ ...offer, counts: lets(offer) }))
  return `${JSON.stringify({ folder, trusted, offers: rows })}\n`
}

async function list(flags: Flags, owner: TrustOwner, { output }: Program): Promise<number> {
  const { records, problem } = await readTrust(owner)
  if (problem !== undefined) output.err(programMessage(problem))
  const own = [...records].map(([folder, { trusted, since }]) => ({ folder, trusted, since, by: 'you' }))
  const others = [...(await trustedByClaude(owner))].filter(
    (folder) => !records.has(folder) && !isTooBroad(folder, owner),
  )
  const rows = [...own, ...others.map((folder) => ({ folder, trusted: true, since: '', by: 'Claude Code' }))]
  if (wantsJson(flags)) output.out(`${JSON.stringify({ folders: rows })}\n`)
  else if (rows.length === 0) output.out('No folder is trusted.\n')
  else {
    const cells = rows.map(({ folder, trusted, since, by }) => [
      since.slice(0, 10),
      trusted ? 'trusted' : 'revoked',
      `${oneLine(folder, Infinity)}${by === 'you' ? '' : `  (${by})`}`,
    ])
    const lines = tableLines(cells, { columns: [{ min: 10 }, {}, {}], indent: 0 })
    output.out(lines.map((line) => `${line}\n`).join(''))
  }
  return problem === undefined ? 0 : 1
}

async function revoke(flags: Flags, owner: TrustOwner, { output }: Program): Promise<number> {
  const { cwd: folder } = owner
  const before = await folderTrust(owner)
  await changeTrust(owner, (records) => void records.delete(folder))
  const after = await folderTrust(owner)
  // A parent folder or another program still trusts the folder, so the folder's own record must deny trust.
  if (after.trusted)
    await changeTrust(owner, (records) => {
      records.set(folder, { trusted: false, since: new Date().toISOString(), offers: [] })
    })
  if (wantsJson(flags)) output.out(`${JSON.stringify({ folder, trusted: false, wasTrusted: before.trusted })}\n`)
  else output.out(`${before.trusted ? 'No longer trusted' : 'Not trusted'}: ${oneLine(folder, Infinity)}\n`)
  return 0
}
