import { realPath } from '@halting/journal/files'
import type { Environment } from '@halting/policy/files'
import { lookAtFolder } from '../checkpoints/folder-look.ts'
import { GitProject, isInRepository } from '../checkpoints/git-look.ts'
import { KeptContents } from '../checkpoints/kept-contents.ts'
import { HeldFiles, lookLimits, type ProjectLook } from '../checkpoints/project-look.ts'

/** Looks at a workspace before and after checks, by git where it is in a repository. No content is stored. */
export class WorkspaceLook {
  readonly #root: string
  readonly #env: Environment
  readonly #contents: KeptContents
  readonly #files: HeldFiles
  #git: GitProject | undefined

  constructor(cwd: string, env: Environment) {
    this.#root = realPath(cwd)
    this.#env = env
    // It is never opened, so that it stores nothing.
    this.#contents = new KeptContents(this.#root)
    this.#files = new HeldFiles(this.#contents, [])
  }

  async look(): Promise<ProjectLook> {
    // A repository may be made, and removed, in the middle of a session.
    if (!isInRepository(this.#root)) this.#git = undefined
    else this.#git ??= await GitProject.of(this.#root, this.#env)
    const look = await this.#git?.look(this.#files, this.#contents, lookLimits)
    return look ?? lookAtFolder(this.#root, this.#files, lookLimits)
  }
}
