/** Source and date of the table below. */
export const snapshotSource = 'pi-ai 1.5.2 model data (MIT), generated 2026-11-10'

/**
 * One line per model: id, context window and longest reply in tokens; then US dollars per million tokens for input,
 * output, cache read and five-minute cache write (an hour costs twice the input). After each `>` follow a prompt size
 * and the four rates that apply to whole requests above it.
 */
export const snapshotTable = `
anthropic/claude-fable-5 1000000 128000 10 50 1 12.5
anthropic/claude-fable-5-1 1000000 128000 10 50 0.25 12.5
anthropic/claude-fable-5-2 1000000 128000 8 40 0.2 10
anthropic/claude-haiku-4-5 200000 64000 1 5 0.1 1.25
anthropic/claude-haiku-4-5-20251001 200000 64000 1 5 0.1 1.25
anthropic/claude-haiku-5-5 1000000 128000 0.1 0.5 0.01 0.125 > 100000 0.5 2.5 0.05 0.625
anthropic/claude-opus-4-5 200000 64000 5 25 0.5 6.25
anthropic/claude-opus-4-5-20251101 200000 64000 5 25 0.5 6.25
anthropic/claude-opus-4-6 1000000 128000 5 25 0.5 6.25
anthropic/claude-opus-4-7 1000000 128000 5 25 0.5 6.25
anthropic/claude-opus-4-8 1000000 128000 5 25 0.5 6.25
anthropic/claude-opus-5 1000000 128000 5 25 0.5 6.25
anthropic/claude-opus-5-5 1000000 128000 4 20 0.2 5
anthropic/claude-sonnet-4-5 200000 64000 3 15 0.3 3.75
anthropic/claude-sonnet-4-5-20250929 200000 64000 3 15 0.3 3.75
anthropic/claude-sonnet-4-6 1000000 128000 3 15 0.3 3.75
anthropic/claude-sonnet-5 1000000 128000 2 10 0.2 2.5
anthropic/claude-sonnet-5-5 1000000 128000 2 10 0.1 2.5
openai/gpt-6-luna 272000 128000 0.1 0.5 0.01 0.125 > 272000 0.2 0.75 0.02 0.25
openai/chat-latest 400000 128000 5 30 0.5 0
openai/gpt-4 8192 8192 30 60 0 0
openai/gpt-4-turbo 128000 4096 10 30 0 0
openai/gpt-4.1 1047576 32768 2 8 0.5 0
openai/gpt-4.1-mini 1047576 32768 0.4 1.6 0.1 0
openai/gpt-4.1-nano 1047576 32768 0.1 0.4 0.025 0
openai/gpt-4o 128000 16384 2.5 10 1.25 0
openai/gpt-4o-2024-05-13 128000 4096 5 15 0 0
openai/gpt-4o-2024-08-06 128000 16384 2.5 10 1.25 0
openai/gpt-4o-2024-11-20 128000 16384 2.5 10 1.25 0
openai/gpt-4o-mini 128000 16384 0.15 0.6 0.075 0
openai/gpt-5 400000 128000 1.25 10 0.125 0
openai/gpt-5-chat-latest 128000 16384 1.25 10 0.125 0
openai/gpt-5-mini 400000 128000 0.25 2 0.025 0
openai/gpt-5-nano 400000 128000 0.05 0.4 0.005 0
openai/gpt-5-pro 400000 128000 15 120 0 0
openai/gpt-5.1 400000 128000 1.25 10 0.125 0
openai/gpt-5.2 400000 128000 1.75 14 0.175 0
openai/gpt-5.2-pro 400000 128000 21 168 0 0
openai/gpt-5.3-codex 400000 128000 1.75 14 0.175 0
openai/gpt-5.3-codex-spark 128000 32000 1.75 14 0.175 0
openai/gpt-5.4 272000 128000 2.5 15 0.25 0 > 272000 5 22.5 0.5 0
openai/gpt-5.4-mini 400000 128000 0.75 4.5 0.075 0
openai/gpt-5.4-nano 400000 128000 0.2 1.25 0.02 0
openai/gpt-5.4-pro 1050000 128000 30 180 0 0 > 272000 60 270 0 0
openai/gpt-5.5 272000 128000 5 30 0.5 0 > 272000 10 45 1 0
openai/gpt-5.5-pro 1050000 128000 30 180 0 0 > 272000 60 270 0 0
openai/gpt-5.6-cyber 400000 128000 12.5 75 1.25 15.625
openai/gpt-5.6-luna 272000 128000 0.2 1.2 0.02 0.25 > 272000 0.4 1.8 0.04 0.5
openai/gpt-5.6-sol 272000 128000 4 20 0.4 5 > 272000 8 30 0.8 10
openai/gpt-5.6-terra 272000 128000 2 12 0.2 2.5 > 272000 4 18 0.4 5
openai/gpt-6-astra 272000 128000 10 50 1 12.5 > 272000 20 75 2 25
openai/gpt-6-sol 272000 128000 2 10 0.2 2.5 > 272000 4 15 0.4 5
openai/gpt-6.1-sol 272000 128000 2 10 0.1 2.5 > 272000 4 15 0.2 5
openai/gpt-6.1-terra 272000 128000 1 5 0.05 1.25 > 272000 2 7.5 0.1 2.5
openai/gpt-daybreak-blue-latest 1050000 128000 4 20 0.4 5 > 272000 8 30 0.8 10
openai/gpt-daybreak-red-latest 400000 128000 12.5 75 1.25 15.625
openai/o1 200000 100000 15 60 7.5 0
openai/o1-pro 200000 100000 150 600 0 0
openai/o3 200000 100000 2 8 0.5 0
openai/o3-mini 200000 100000 1.1 4.4 0.55 0
openai/o3-pro 200000 100000 20 80 0 0
openai/o4-mini 200000 100000 1.1 4.4 0.275 0
google/deep-research-max-preview-04-2026 1048576 65536 2 12 0.2 0 > 200000 4 18 0.4 0
google/deep-research-preview-04-2026 1048576 65536 2 12 0.2 0 > 200000 4 18 0.4 0
google/gemini-2.5-computer-use-preview-10-2025 128000 64000 1.25 10 0 0 > 200000 2.5 15 0 0
google/gemini-2.5-flash 1048576 65536 0.3 2.5 0.03 0
google/gemini-2.5-flash-lite 1048576 65536 0.1 0.4 0.01 0
google/gemini-2.5-pro 1048576 65536 1.25 10 0.125 0 > 200000 2.5 15 0.25 0
google/gemini-3-flash-preview 1048576 65536 0.5 3 0.05 0
google/gemini-3.1-flash-lite 1048576 65536 0.25 1.5 0.025 0
google/gemini-3.1-flash-lite-preview 1048576 65536 0.25 1.5 0.025 0
google/gemini-3.1-pro-preview 1048576 65536 2 12 0.2 0 > 200000 4 18 0.4 0
google/gemini-3.1-pro-preview-customtools 1048576 65536 2 12 0.2 0 > 200000 4 18 0.4 0
google/gemini-3.5-flash 1048576 65536 1.5 9 0.15 0
google/gemini-3.5-flash-lite 1048576 65536 0.3 2.5 0.03 0
google/gemini-3.6-flash 1048576 65536 0.75 3.75 0.075 0
google/gemini-3.7-flash 1048576 65536 0.75 3.75 0.075 0
google/gemini-3.8-flash 1048576 65536 0.75 3.75 0.075 0
google/gemini-4-argon 1048576 32768 2 10 0.1 0
google/gemini-flash-latest 1048576 65536 1.5 9 0.15 0
google/gemini-flash-lite-latest 1048576 65536 0.25 1.5 0.025 0
google/gemini-pro-latest 1048576 65536 2 12 0.2 0 > 200000 4 18 0.4 0
google/gemini-robotics-er-2-preview 131072 65536 1 5 0.1 0
google/gemma-4-26b-a4b-it 262144 32768 0 0 0 0
google/gemma-4-31b-it 262144 32768 0 0 0 0
deepseek/deepseek-flash 1000000 384000 0.3 1.2 0.006 0
deepseek/deepseek-v4-pro 1000000 384000 1.32 3.96 0.044 0
mistral/codestral-2508 256000 8192 0.3 0.9 0.03 0
mistral/codestral-latest 256000 4096 0.3 0.9 0.03 0
mistral/deepseek-v4-1-flash-1017 1048576 128000 0.3 1.2 0.007 0
mistral/devstral-2512 262144 262144 0.4 2 0.04 0
mistral/devstral-latest 262144 262144 0.4 2 0.04 0
mistral/devstral-medium-latest 262144 262144 0.4 2 0.04 0
mistral/glm-5-2 1048576 131072 1.4 4.4 0.14 0
mistral/labs-devstral-small-2512 256000 256000 0 0 0 0
mistral/labs-leanstral-1-5-1 262144 128000 0 0 0 0
mistral/magistral-medium-latest 262144 16384 2 5 0.2 0
mistral/ministral-14b-2512 262144 262144 0.2 0.2 0.02 0
mistral/ministral-3b-2512 131072 262144 0.1 0.1 0.01 0
mistral/ministral-3b-latest 131072 128000 0.1 0.1 0.01 0
mistral/ministral-8b-2512 262144 262144 0.15 0.15 0.015 0
mistral/ministral-8b-latest 262144 128000 0.15 0.15 0.015 0
mistral/mistral-large-2512 262144 262144 0.5 1.5 0.05 0
mistral/mistral-large-4 1048576 262144 0.7 2.1 0.07 0
mistral/mistral-large-4-0-8 1048576 262144 0.7 2.1 0.07 0
mistral/mistral-large-latest 262144 262144 0.5 1.5 0.05 0
mistral/mistral-medium-2505 131072 131072 0.4 2 0.04 0
mistral/mistral-medium-2508 262144 262144 0.4 2 0.04 0
mistral/mistral-medium-2604 262144 262144 1.5 7.5 0.15 0
mistral/mistral-medium-3.5 262144 262144 1.5 7.5 0 0
mistral/mistral-medium-latest 262144 262144 1.5 7.5 0.15 0
mistral/mistral-small-2506 128000 16384 0.1 0.3 0.01 0
mistral/mistral-small-2603 262144 256000 0.15 0.6 0.015 0
mistral/mistral-small-latest 262144 256000 0.15 0.6 0.015 0
mistral/open-mistral-nemo 128000 128000 0.15 0.15 0.015 0
mistral/pixtral-12b 128000 128000 0.15 0.15 0.015 0
mistral/voxtral-small-2507 32768 32000 0.1 0.4 0.01 0
mistral/voxtral-small-latest 32768 32000 0.1 0.4 0.01 0
mistral/zai-glm-5-2 1048576 131072 1.4 4.4 0.14 0
mistral/zai-glm-5-3 1048576 131072 1.4 4.4 0.14 0
mistral/zai-glm-5-3-flash 1048576 131072 0.15 0.5 0.03 0
xai/grok-4.3 1000000 30000 1.25 2.5 0.2 0 > 200000 2.5 5 0.4 0
xai/grok-4.5 500000 500000 2 6 0.3 0 > 200000 4 12 0.6 0
xai/grok-4.6 500000 500000 2 6 0.5 0 > 200000 4 12 1 0
xai/grok-4.7 500000 500000 2 6 0.5 0 > 200000 4 12 1 0
groq/llama-3.1-8b-instant 131072 131072 0.05 0.08 0 0
groq/llama-3.3-70b-versatile 131072 32768 0.59 0.79 0 0
groq/openai/gpt-oss-120b 131072 65536 0.15 0.6 0.075 0
groq/openai/gpt-oss-20b 131072 65536 0.075 0.3 0.0375 0
groq/openai/gpt-oss-safeguard-20b 131072 65536 0.075 0.3 0.0375 0
groq/qwen/qwen3.6-27b 131072 16384 0.6 3 0.3 0
groq/qwen/qwen3.8-27b 131072 16384 0.8 4 0 0
moonshotai/kimi-k2.6 262144 262144 0.95 4 0.16 0
moonshotai/kimi-k2.7-code 262144 262144 0.95 4 0.19 0
moonshotai/kimi-k2.7-code-highspeed 262144 262144 1.9 8 0.38 0
moonshotai/kimi-k3 1048576 1048576 3 15 0.3 0
moonshotai/kimi-k3.1-pro 1048576 1048576 2 10 0.2 0
moonshotai/kimi-k3.1-pro-highspeed 1048576 1048576 4 20 0.2 0
`
