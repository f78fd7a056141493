import type { Environment } from '../files/paths.ts'
import { isSecretVariable } from './secret-variables.ts'

/** The environment of a confined command: without API keys and connections to the host, and set up so that no program waits for a network. */
export function editEnvironment(env: Environment): Environment {
  const visible = Object.entries(env).filter(
    ([name]) => !isSecretVariable(name) && !/^(?:https?|all|no|ftp)_proxy$/i.test(name),
  )
  return {
    ...Object.fromEntries(visible),
    TMPDIR: '/tmp',
    TMP: '/tmp',
    TEMP: '/tmp',
    ...acrossMounts,
    ...withoutNetwork(env),
  }
}

/**
 * Settings for a command that writes to a repository. Background maintenance of git would be killed with the command and leave locks. It runs with
 * the next unconfined command.
 */
export function withoutGitMaintenance(env: Environment): Environment {
  const count = Number(env['GIT_CONFIG_COUNT'] ?? '0')
  // git rejects a value that is not an integer.
  if (!Number.isInteger(count) || count < 0) return {}
  const settings = ['maintenance.auto', 'gc.auto'].flatMap((name, index) => [
    [`GIT_CONFIG_KEY_${count + index}`, name],
    [`GIT_CONFIG_VALUE_${count + index}`, '0'],
  ])
  return { ...Object.fromEntries(settings), GIT_CONFIG_COUNT: String(count + 2) }
}

/** A directory of the session is a separate mount, and the repository may start above it. */
const acrossMounts = { GIT_DISCOVERY_ACROSS_FILESYSTEM: '1' }

/** Makes programs fail at once that would otherwise retry. */
function withoutNetwork(env: Environment): Environment {
  return {
    npm_config_fetch_retries: '0',
    npm_config_update_notifier: 'false',
    NO_UPDATE_NOTIFIER: '1',
    COREPACK_ENABLE_DOWNLOAD_PROMPT: '0',
    YARN_HTTP_RETRY: '0',
    YARN_ENABLE_TELEMETRY: '0',
    PIP_RETRIES: '0',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    UV_HTTP_RETRIES: '0',
    UV_HTTP_TIMEOUT: '2',
    POETRY_REQUESTS_MAX_RETRIES: '0',
    CARGO_NET_RETRY: '0',
    CARGO_HTTP_TIMEOUT: '2',
    BUNDLE_RETRY: '0',
    COMPOSER_DISABLE_NETWORK: '1',
    HOMEBREW_NO_AUTO_UPDATE: '1',
    DOTNET_CLI_TELEMETRY_OPTOUT: '1',
    // The person's values come first, because these variables contain command-line options.
    MAVEN_ARGS: [env['MAVEN_ARGS'], '-Daether.connector.http.retryHandler.count=0'].filter(Boolean).join(' '),
  }
}
