{{ config(materialized='view') }}
{{ landed('moved') }}
