import { platform, release } from 'node:os'
import type { Workspace } from '../tools/workspace.ts'

/** The working environment of a session. */
export interface Place {
  readonly cwd: string
  readonly directories: readonly string[]
  readonly platform: string
  /** `2026-11-21`. */
  readonly date: string
}

export function surroundingsOf(workspace: Workspace): Place {
  return {
    cwd: workspace.cwd,
    directories: workspace.directories,
    platform: `${platform()} ${release()}`,
    date: new Date().toISOString().slice(0, 10),
  }
}
