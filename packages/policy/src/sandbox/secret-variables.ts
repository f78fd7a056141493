/** Whether a variable gives access to the host (sockets of agents and desktops) or contains a key of a service. No build needs these. */
export function isSecretVariable(name: string): boolean {
  return (
    /^(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_\w+|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_RUNTIME_DIR)$/.test(
      name,
    ) ||
    /^(?:DOCKER_HOST|CONTAINER_HOST|KUBECONFIG|NODE_CHANNEL_\w+)$/.test(name) ||
    /(?:^|_)(?:API_?KEY|AUTH_TOKEN|SECRET_ACCESS_KEY|SESSION_TOKEN)$/i.test(name) ||
    /^(?:GH|GITHUB|GITLAB|NPM|NODE_AUTH|HF|PYPI|CARGO_REGISTRY|ANTHROPIC_AUTH)_TOKEN$|^ANTHROPIC_CUSTOM_HEADERS$/.test(
      name,
    )
  )
}
