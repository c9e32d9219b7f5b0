"""The models on this machine, the reader among them: verified files, tokenizers, batches, scores.

What enters: tokens. What leaves: scores, as arrays. It is the only package that
knows onnxruntime and tokenizers, and it knows nothing of policies, privacy or conversations.
"""

from typing import TYPE_CHECKING

from sanitizer import lazy_door

if TYPE_CHECKING:
    from sanitizer.lm.causal import DEFAULT_CAUSAL_MODEL as DEFAULT_CAUSAL_MODEL
    from sanitizer.lm.causal import MAX_CELLS as MAX_CELLS
    from sanitizer.lm.causal import CausalLM as CausalLM
    from sanitizer.lm.causal import Logits as Logits
    from sanitizer.lm.causal import OnnxCausalLM as OnnxCausalLM
    from sanitizer.lm.causal import OnnxRows as OnnxRows
    from sanitizer.lm.causal import Read as Read
    from sanitizer.lm.causal import Rows as Rows
    from sanitizer.lm.causal import TokenLists as TokenLists
    from sanitizer.lm.files import Manifest as Manifest
    from sanitizer.lm.files import fetch as fetch
    from sanitizer.lm.files import model_folder as model_folder
    from sanitizer.lm.files import model_root as model_root
    from sanitizer.lm.loading import Models as Models
    from sanitizer.lm.loading import Tables as Tables
    from sanitizer.lm.masked import DEFAULT_MASKED_MODEL as DEFAULT_MASKED_MODEL
    from sanitizer.lm.masked import FILES as FILES
    from sanitizer.lm.masked import MAX_THREADS as MAX_THREADS
    from sanitizer.lm.masked import Batch as Batch
    from sanitizer.lm.masked import MaskedLM as MaskedLM
    from sanitizer.lm.masked import OnnxMaskedLM as OnnxMaskedLM
    from sanitizer.lm.masked import Row as Row
    from sanitizer.lm.masked import batches as batches
    from sanitizer.lm.masked import centred_rows as centred_rows
    from sanitizer.lm.masked import read_settings as read_settings
    from sanitizer.lm.masked import rows as rows
    from sanitizer.lm.masked import session as session
    from sanitizer.lm.reader import CLASSES as CLASSES
    from sanitizer.lm.reader import OnnxReader as OnnxReader
    from sanitizer.lm.reader import Reader as Reader
    from sanitizer.lm.reader import Scores as Scores
    from sanitizer.lm.tokens import ByteTokens as ByteTokens
    from sanitizer.lm.tokens import ChatFormat as ChatFormat
    from sanitizer.lm.tokens import WordPieces as WordPieces
    from sanitizer.lm.weights_file import BLOCK as BLOCK
    from sanitizer.lm.weights_file import Gguf as Gguf
    from sanitizer.lm.weights_file import ModelShape as ModelShape
    from sanitizer.lm.weights_file import Place as Place
    from sanitizer.lm.weights_file import convert as convert
    from sanitizer.lm.weights_file import floats as floats
    from sanitizer.lm.weights_file import layout as layout
    from sanitizer.lm.weights_file import linears as linears
    from sanitizer.lm.word_vectors import PieceTable as PieceTable
    from sanitizer.lm.word_vectors import WordTable as WordTable
    from sanitizer.lm.word_vectors import mapped as mapped
    from sanitizer.lm.word_vectors import scaled_distances as scaled_distances
else:
    __getattr__, __dir__ = lazy_door(
        __name__,
        {
            "causal": (
                "CausalLM",
                "DEFAULT_CAUSAL_MODEL",
                "Logits",
                "MAX_CELLS",
                "OnnxCausalLM",
                "OnnxRows",
                "Read",
                "Rows",
                "TokenLists",
            ),
            "files": ("Manifest", "fetch", "model_folder", "model_root"),
            "loading": ("Models", "Tables"),
            "masked": (
                "Batch",
                "DEFAULT_MASKED_MODEL",
                "FILES",
                "MAX_THREADS",
                "MaskedLM",
                "OnnxMaskedLM",
                "Row",
                "batches",
                "centred_rows",
                "read_settings",
                "rows",
                "session",
            ),
            "reader": ("CLASSES", "OnnxReader", "Reader", "Scores"),
            "tokens": ("ByteTokens", "ChatFormat", "WordPieces"),
            "weights_file": (
                "BLOCK",
                "Gguf",
                "ModelShape",
                "Place",
                "convert",
                "floats",
                "layout",
                "linears",
            ),
            "word_vectors": ("PieceTable", "WordTable", "mapped", "scaled_distances"),
        },
    )
