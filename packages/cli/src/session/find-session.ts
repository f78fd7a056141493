import { keptSessions, readJournal, type KeptFile } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import { nearest } from '../flags/nearest.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { whose } from './whose.ts'

/** @throws UsageError for an id that a session has. */
export async function refuseTaken(sessionId: string, program: Program): Promise<void> {
  const all = await keptSessions(whose(program), 'all')
  if (!all.some((file) => file.sessionId === sessionId)) return
  throw new UsageError(`The session ID ${sessionId} is in use already. Go on with it: halting --resume ${sessionId}`)
}

/** @throws UsageError where none is kept. */
export async function newestSession(program: Program): Promise<KeptFile> {
  const [newest] = await keptSessions(whose(program), 'of this folder')
  if (newest !== undefined) return newest
  throw new UsageError('No conversation found to continue: no session of this folder is kept. halting -p begins one.')
}

/** A session of this folder. @throws UsageError that says where it is, or what is like it. */
export async function ownSession(id: string, program: Program): Promise<KeptFile> {
  const file = await findSession(id, program)
  const [own] = (await keptSessions(whose(program), 'of this folder')).filter(({ path }) => path === file.path)
  if (own !== undefined) return own
  const { cwd } = await readJournal(file.path).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  throw new UsageError(
    `The session ${file.sessionId} is of the folder ${cwd}. Go on with it there: cd ${shellQuoted([cwd])} && halting --resume ${file.sessionId}`,
  )
}

/** Letters that are enough of an id, where they are the beginning of one alone. */
const leastLetters = 4

/** The session of this id, or the only one whose id begins so, in any folder. @throws UsageError for none, and for several. */
export async function findSession(id: string, program: Program): Promise<KeptFile> {
  const all = await keptSessions(whose(program), 'all')
  const given = id.toLowerCase()
  const exact = all.find(({ sessionId }) => sessionId.toLowerCase() === given)
  if (exact !== undefined) return exact
  const begun = given.length < leastLetters ? [] : all.filter(({ sessionId }) => sessionId.startsWith(given))
  const [only, another] = begun
  if (only !== undefined && another === undefined) return only
  const ids = all.map(({ sessionId }) => sessionId)
  const meant = another === undefined ? nearest(given, ids, 4) : undefined
  const hint =
    another === undefined
      ? meant === undefined
        ? ''
        : ` Did you mean ${meant}?`
      : ` ${begun.length} begin so: say more of the id.`
  throw new UsageError(
    `No conversation found with session ID: ${id.slice(0, 100)}.${hint} halting sessions lists those of this folder.`,
  )
}
