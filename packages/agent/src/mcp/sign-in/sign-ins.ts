import { createHash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type AuthorizationServerMetadata,
  computeScopeUnion,
  type OAuthClientInformationMixed,
  type OAuthTokens,
} from '@modelcontextprotocol/client'
import { codeOf, isJsonObject } from '@halting/core/adapters'
import { makeDurableFolder, partOf, writeWhole } from '@halting/journal/files'
import { lockFile } from '@halting/policy'

/** The credentials for one server, with the data needed to refresh them. */
export interface SignIn {
  /** The server's own address. The credentials are sent to no other address. */
  readonly url: string
  /** Address of the authorization server. */
  readonly authorizationServer: string
  /** What the authorization server reports about itself. */
  readonly metadata?: AuthorizationServerMetadata | undefined
  /** The resource that the tokens are for, as the server names it. */
  readonly resource?: string | undefined
  /** The registration of this program at the authorization server. */
  readonly client: OAuthClientInformationMixed
  /** The tokens. */
  readonly tokens: OAuthTokens
  /** The requested scope: a new sign-in requests at least this. */
  readonly scope?: string | undefined
  /** Additional scope that the server has requested since. */
  readonly wantedScope?: string | undefined
  /** Expiry time by the clock of this machine; absent if the server did not report one. */
  readonly expiresAtMs?: number
}

const longestScope = 4_000

/**
 * The sign-ins of a user, one file each. I1: a sign-in is found by the full address of its server; no other address
 * receives it, whatever its name. I2: only the user can read the files and the folder. I3: one process at a time
 * changes a sign-in.
 */
export class SignIns {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The sign-in at a server; undefined if none exists. */
  async find(url: string): Promise<SignIn | undefined> {
    try {
      const content: unknown = JSON.parse(await readFile(this.#fileOf(url), 'utf8'))
      return isSignIn(content) && content.url === addressOf(url) ? content : undefined
    } catch (thrown) {
      // An unreadable file counts as missing; a new sign-in replaces it.
      if (codeOf(thrown) === 'ENOENT' || thrown instanceof SyntaxError) return undefined
      throw new Error('its sign-in cannot be read', { cause: thrown })
    }
  }

  /** Stores a sign-in, replacing the former one. */
  async store(signIn: SignIn): Promise<void> {
    await makeDurableFolder(this.#folder)
    const content: SignIn = { ...signIn, url: addressOf(signIn.url) }
    await writeWhole(this.#fileOf(signIn.url), `${JSON.stringify(content, undefined, 2)}\n`)
  }

  /** Stores an additional scope for the next sign-in. Does nothing if no sign-in exists. */
  async addScope(url: string, scope: string): Promise<void> {
    await this.locked(url, async () => {
      const found = await this.find(url)
      const wantedScope = computeScopeUnion(found?.wantedScope, scope) ?? ''
      // A server may name another scope at each call; an address with all of these scopes would be too long.
      if (found !== undefined && wantedScope.length <= longestScope) await this.store({ ...found, wantedScope })
    })
  }

  /** Removes a sign-in. Returns whether it existed. */
  async forget(url: string): Promise<boolean> {
    const file = this.#fileOf(url)
    // Removes the temporary file of a process that was killed.
    await rm(partOf(file), { force: true })
    try {
      await rm(file)
      return true
    } catch (thrown) {
      if (codeOf(thrown) === 'ENOENT') return false
      throw thrown
    }
  }

  /** Runs work while no other process changes the sign-in of this server. */
  async locked<T>(url: string, work: () => Promise<T>): Promise<T> {
    await makeDurableFolder(this.#folder)
    const release = await lockFile(`${this.#fileOf(url)}.lock`, 'this sign-in')
    try {
      return await work()
    } finally {
      await release()
    }
  }

  #fileOf(url: string): string {
    return join(this.#folder, `${createHash('sha256').update(addressOf(url)).digest('hex').slice(0, 32)}.json`)
  }
}

/** Normalizes an address. The part after `#` is not sent to a server. */
function addressOf(rawUrl: string): string {
  const url = new URL(rawUrl)
  url.hash = ''
  return url.href
}

function isSignIn(content: unknown): content is SignIn {
  if (!isJsonObject(content)) return false
  const { url, authorizationServer, client, tokens } = content
  return (
    typeof url === 'string' &&
    typeof authorizationServer === 'string' &&
    isJsonObject(client) &&
    typeof client['client_id'] === 'string' &&
    isJsonObject(tokens) &&
    typeof tokens['access_token'] === 'string'
  )
}
