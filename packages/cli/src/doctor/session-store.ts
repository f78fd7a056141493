import { messageOf } from '@halting/core/adapters'
import { many } from '../io/figures.ts'
import type { Program } from '../program.ts'
import type { Finding } from './finding.ts'

/** Whether the session store can be reached, where there is one. */
export async function sessionStoreFindings(program: Program): Promise<readonly Finding[]> {
  const { sessionStore } = program
  if (sessionStore === undefined) return []
  const what = 'session store'
  const { copiesOf } = await import('../session-store/open-store.ts')
  const copies = copiesOf(sessionStore, program)
  try {
    const { length } = await copies.list(program.cwd)
    return [{ what, state: 'good', says: `${sessionStore.name}, ${many(length, 'session')} of this folder` }]
  } catch (thrown) {
    const todo = `${sessionStore.from} names it. Use --session-store files to start without it.`
    return [{ what, state: 'broken', says: messageOf(thrown), todo }]
  } finally {
    await copies.close()
  }
}
