import { createKeyRedactor } from '@halting/models'
import { absolutePath } from '@halting/policy/files'
import type { Settings } from '@halting/policy/settings'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { checkpointsFolder, hiddenFromCheckpoints } from '../checkpoints/checkpoints-folder.ts'
import { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import type { ChosenSession } from './chosen-session.ts'
import { toolEnvironment } from './tool-environment.ts'
import { whose } from './whose.ts'

/** Who keeps what files were before they are changed; nobody where the person wants none, or nothing of the session is kept. */
export function checkpointsOf(
  {
    choices: { noFileCheckpoints, addDir = [] },
    settings: { permissions },
  }: {
    /** The choices of the session. */
    readonly choices: Pick<SessionChoices, 'noFileCheckpoints' | 'addDir'>
    /** The settings of the session. */
    readonly settings: Pick<Settings, 'permissions'>
  },
  { sessionId, kind }: ChosenSession,
  ports: SessionPorts,
): FileCheckpoints | undefined {
  const { cwd, env, hiddenVariables, wordNotice, note } = ports
  if (
    noFileCheckpoints === true ||
    kind === 'unkept' ||
    kind === 'elsewhere' ||
    (noFileCheckpoints === undefined && env['CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING'] === '1')
  )
    return undefined
  const place = { ...whose(ports), sessionId }
  return new FileCheckpoints({
    folder: checkpointsFolder(place),
    hidden: hiddenFromCheckpoints(place),
    cwd,
    directories: [...addDir, ...(permissions?.additionalDirectories ?? [])].map((path) => absolutePath(path, cwd)),
    // Git may run what a project configures.
    env: toolEnvironment(env, hiddenVariables),
    redact: createKeyRedactor(env),
    onProblem: (problem) => note(wordNotice({ kind: 'checkpoints_stopped', problem })),
  })
}
