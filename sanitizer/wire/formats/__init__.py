"""The APIs beside OpenAI's: a table of shapes each, and a handler of its streams.

`messages` and `message_events` are Anthropic's Messages, `gemini` and `gemini_events` Google's
generateContent, `ollama` and `ollama_events` Ollama's chat and generate.
"""
