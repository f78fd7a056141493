import { spawnSync } from 'node:child_process'
import { platform } from 'node:os'
import { ripgrepPath, type SessionWall, wallSummary } from '@halting/agent'
import { wallOf } from '@halting/agent/open-session'
import { explicitAutoAllow, sandboxSettingsOf } from '@halting/policy'
import type { RunSettings } from '../flags/session-ports.ts'
import { confinementLines } from '../frontends/confinement-words.ts'
import type { Finding, DoctorContext } from './finding.ts'

/** Node and the programs that tools use. */
export async function programFindings(
  context: DoctorContext,
  settings: RunSettings['settings'],
): Promise<readonly Finding[]> {
  const isSandboxed = context.flags.sandbox === true || sandboxSettingsOf(settings.sandbox ?? []).enabled
  const wall = wallOf(context, settings)
  return [
    nodeFinding(),
    await ripgrepFinding(),
    gitFinding(context),
    confinementFinding(wall),
    ...(isSandboxed ? [] : [editConfinementFinding(wall, settings), ...trialFindings(wall, settings)]),
    sandboxFinding(context),
  ]
}

function nodeFinding(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > 20 || (major === 20 && minor >= 19)
  if (isEnough) return { what: 'node', state: 'good', says: process.version }
  return { what: 'node', state: 'broken', says: process.version, todo: 'Install Node 20.19 or later.' }
}

async function ripgrepFinding(): Promise<Finding> {
  const path = await ripgrepPath()
  const version = path === undefined ? undefined : versionOf(path, process.cwd())
  if (version !== undefined) return { what: 'ripgrep', state: 'good', says: version }
  return {
    what: 'ripgrep',
    state: 'note',
    says: 'not available on this platform: the tools Grep and Glob fail',
    todo: 'Reinstall halting with its dependencies (@vscode/ripgrep), or let the model search with Bash.',
  }
}

function gitFinding({ cwd }: DoctorContext): Finding {
  const version = versionOf('git', cwd)
  if (version === undefined) {
    return {
      what: 'git',
      state: 'note',
      says: 'not found',
      todo: 'Install git to review and revert changes.',
    }
  }
  const { status, stdout } = spawnSync('git', ['rev-parse', '--show-toplevel'], { cwd, encoding: 'utf8' })
  if (status === 0) return { what: 'git', state: 'good', says: `${version}; ${stdout.trim()}` }
  return {
    what: 'git',
    state: 'note',
    says: `${version}; ${cwd} is not in a repository`,
    todo: 'Run git init to review and revert changes.',
  }
}

/** How commands are confined that run because they only read. */
function confinementFinding(wall: SessionWall): Finding {
  const means = wall.means()
  const says = wallSummary(means)
  if (means.kind !== 'none') return { what: 'confinement', state: 'good', says }
  return {
    what: 'confinement',
    state: 'note',
    says,
    todo: 'Install bubblewrap (apt install bubblewrap), or perl on a kernel with Landlock.',
  }
}

// Spec R-EFRONT-3.
/** How commands without a rule are confined in `acceptEdits`. Confinement that settings turn off is not a problem. */
function editConfinementFinding(wall: SessionWall, settings: RunSettings['settings']): Finding {
  const means = wall.edits()
  const { edit: says } = confinementLines(wall, settings, false)
  const isChosen =
    platform() !== 'linux' || settings.confineJudged === 'off' || explicitAutoAllow(settings.sandbox ?? []) === false
  if (means.kind !== 'off' || isChosen) return { what: 'acceptEdits', state: 'good', says }
  const { todo = 'Run `bwrap --unshare-all --ro-bind / / --proc /proc true` to see what fails here.' } = means
  return { what: 'acceptEdits', state: 'note', says, todo }
}

/** How commands are tried before a permission request, if the settings turn that on. */
function trialFindings(wall: SessionWall, settings: RunSettings['settings']): readonly Finding[] {
  const { trial: says } = confinementLines(wall, settings, false)
  if (says === undefined) return []
  if (wall.trials().kind === 'overlay') return [{ what: 'tryReadOnly', state: 'good', says }]
  const todo =
    'Install bubblewrap and perl, and set TMPDIR to a folder on a disk (not on an overlay), or remove tryReadOnly.'
  return [{ what: 'tryReadOnly', state: 'note', says, todo }]
}

/** Whether the program that `--sandbox` needs is installed. */
function sandboxFinding({ cwd }: DoctorContext): Finding {
  const program = platform() === 'darwin' ? 'sandbox-exec' : 'bwrap'
  const isThere = platform() === 'darwin' || versionOf(program, cwd) !== undefined
  return {
    what: 'sandbox',
    ...(isThere
      ? ({ state: 'good', says: `${program} is installed, for --sandbox` } as const)
      : ({
          state: 'note',
          says: `${program} is not installed, so --sandbox does not work`,
          todo: 'Install bubblewrap (apt install bubblewrap).',
        } as const)),
  }
}

function versionOf(program: string, cwd: string): string | undefined {
  const { status, stdout } = spawnSync(program, ['--version'], { cwd, encoding: 'utf8', timeout: 5_000 })
  return status === 0 ? stdout.split('\n')[0]?.trim() : undefined
}
