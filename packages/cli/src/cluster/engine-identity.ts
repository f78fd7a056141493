import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What an engine signs its requests to workers with. */
export interface EngineIdentity {
  /** The private key. */
  readonly pemFile: string
  /** As workers are told of it (`--identity-key`). */
  readonly publicKey: string
}

/** That of the engine with its data in this folder: made once. */
export async function identityIn(folder: string): Promise<EngineIdentity> {
  const pemFile = join(folder, 'identity.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  try {
    await writeFile(pemFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { flag: 'wx', mode: 0o600 })
  } catch {
    // It is there, or what reads it says why not.
  }
  return { pemFile, publicKey: publicKeyOf(await readFile(pemFile, 'utf8')) }
}

function publicKeyOf(pem: string): string {
  const der = createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' })
  // The last 32 bytes are the key itself.
  return `publickeyv1_${base58(der.subarray(-32))}`
}

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

function base58(bytes: Uint8Array): string {
  let text = ''
  for (let left = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); left > 0n; left /= 58n)
    text = (digits[Number(left % 58n)] ?? '') + text
  // Each zero before is a digit.
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return (digits[0] ?? '').repeat(zeros === -1 ? bytes.length : zeros) + text
}
