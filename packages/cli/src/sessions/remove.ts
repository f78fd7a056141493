import { memoriesOfProject, memoryPlace, type MemoryPlace } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import { deleteSession, readSessionHead, type StoredSessionFile } from '@halting/journal'
import { sessionScope } from '@halting/agent/session-settings'
import type { Flags } from '../flags/flags.ts'
import { many, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSession } from '../stored-sessions/find-session.ts'
import { UsageError } from '../usage-error.ts'

/** Deletes a session. @throws UsageError without `--yes`, and while a process writes it */
export async function deleteStoredSession({ yes }: Flags, id: string, program: Program): Promise<number> {
  const file = await findSession(id, program)
  if (yes !== true)
    throw new UsageError(`This deletes the session ${file.sessionId} permanently. Add --yes to confirm.`)
  const memories = await memoriesFor(file, program)
  await deleteSession(file).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  program.output.out(`Deleted: ${file.sessionId}\n`)
  const notes = await notesOfSession(file, memories)
  if (notes.length > 0)
    program.output.err(
      programMessage(
        `${many(notes.length, 'note')} from this session remain in the memory of its folder. To delete: halting memory forget ${notes.join(' ')}`,
      ),
    )
  return 0
}

/** Memories that may contain notes of the session: of its project folder, and of the folder's current location. */
async function memoriesFor({ path, project }: StoredSessionFile, program: Program): Promise<readonly MemoryPlace[]> {
  const owner = sessionScope(program)
  const inProject = await memoriesOfProject(owner, project)
  try {
    const own = memoryPlace({ ...owner, cwd: readSessionHead(path).cwd })
    return inProject.some((place) => place.path === own.path) ? inProject : [...inProject, own]
  } catch {
    // A damaged session file can also be deleted, so its notes are searched in the project folder only.
    return inProject
  }
}

/** IDs of notes that come only from this session. These notes are kept when the session is deleted. */
async function notesOfSession(
  { sessionId }: StoredSessionFile,
  places: readonly MemoryPlace[],
): Promise<readonly string[]> {
  const { placedNotes, readMemory } = await import('@halting/agent/memory')
  const memories = await Promise.all(places.map((place) => readMemory(place)))
  return memories
    .flatMap((memory) => placedNotes(memory))
    .filter(({ note }) => note.sources.every((source) => source.sessionId === sessionId))
    .map(({ note }) => note.id)
}
